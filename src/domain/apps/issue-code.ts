import * as z from 'zod';
import { Secret } from '../credentials/secret.ts';
import { generateEnrollCode, tokenHash } from '../credentials/tokens.ts';
import type { FleetReader } from '../fleet/reader.ts';
import type { CountersPlan, CountersStep } from '../mutation/account-queue.ts';
import { authorisedBy, type Authorised } from '../mutation/authority.ts';
import { nextInRing, type FoundAnswer, type IdempotencyKey, type RecordAnswer } from '../mutation/idempotency.ts';
import { mutate } from '../mutation/mutation.ts';
import { withParts, type Step } from '../mutation/step.ts';
import { put } from '../records/codec.ts';
import { keyScope } from '../records/idempotency-records.ts';
import { KEYS } from '../records/keys.ts';
import { Refusal } from '../refusal.ts';
import { codeExpiry, withCode, type NewCode } from './app-state.ts';
import { ownApp, type AppsDeps, type Caller } from './own-app.ts';

/** An enrollment code that was issued. Its text is in this result alone. */
export interface IssuedCode {
  readonly enrollCode: Secret;
  readonly expiresAt: number;
  /** The code was given before, for the same Idempotency-Key. */
  readonly replayed: boolean;
}

/** A request that was not answered before. */
interface Unrecorded {
  readonly record: RecordAnswer;
  /** Counts the record in the ring of the caller; the account's counters count it without this. */
  readonly ownRing?: () => ReturnType<typeof nextInRing>;
}

/** H23: looks among the answers of the account, or among those of a restricted key, which ends none of the others. */
export async function answered(
  deps: AppsDeps,
  { accountId, origin: { at } }: Caller,
  { reader, restrictedKeyId }: { readonly reader: FleetReader } & Pick<Authorised, 'restrictedKeyId'>,
  asked: IdempotencyKey,
): Promise<FoundAnswer | Unrecorded> {
  if (restrictedKeyId === undefined) return await deps.idempotency.find(accountId, asked, at, reader);
  const scope = keyScope(accountId, restrictedKeyId);
  const found = await deps.keyAnswers.find(scope, asked, at, reader);
  return 'answer' in found ? found : { ...found, ownRing: () => nextInRing(deps.store, scope, at) };
}

/** The step with the idempotency record of its answer. */
export async function recording<T extends IssuedCode>(
  step: CountersStep<T>,
  { record, ownRing }: Unrecorded,
): Promise<CountersStep<T>> {
  const answer = new Secret(JSON.stringify({ ...step.result, enrollCode: step.result.enrollCode.reveal() }));
  const ring = await ownRing?.();
  if (ring) {
    const recorded = withParts(step, await record(ring.number, answer), ring);
    return { ...recorded, counters: step.counters };
  }
  const { expect, write } = await record(step.counters.idempotencyNext, answer);
  const counters = { ...step.counters, idempotencyNext: step.counters.idempotencyNext + 1 };
  return { ...step, expect: [...step.expect, ...expect], write: [...step.write, ...write], counters };
}

/** The answer as it is recorded. */
export const recordedCode = z.object({ enrollCode: z.string(), expiresAt: z.number() });

/** Reads what `recording` wrote. */
export function readCode(answer: string): IssuedCode {
  const { enrollCode, expiresAt } = recordedCode.parse(JSON.parse(answer));
  return { enrollCode: new Secret(enrollCode), expiresAt, replayed: true };
}

/** See `Apps.issueCode`. */
export async function issueCode(
  deps: AppsDeps,
  caller: Caller,
  appId: string,
  asked: IdempotencyKey | undefined,
): Promise<IssuedCode> {
  const { accountId, origin } = caller;
  const issue = issuing(deps, caller, appId);
  if (!asked) return await mutate(deps, origin, issue, caller.reader);
  const plan: CountersPlan<IssuedCode> = async (reader, counters) => {
    const { account, restrictedKeyId, createdByKey } = await authorisedBy(reader, accountId, caller.authority);
    const found = await answered(deps, caller, { reader, restrictedKeyId }, asked);
    if ('answer' in found) {
      // H23: the code may be one that the key was given for a daemon that runs, before it was narrowed.
      const app = createdByKey === undefined ? undefined : await account.app(appId);
      if (app && app.record.createdByKey !== createdByKey) throw new Refusal('not_found');
      return { unchanged: readCode(found.answer) };
    }
    return await recording({ ...(await issue(reader)), counters }, found);
  };
  return await deps.queues(accountId, origin, plan, caller.reader);
}

/** Generates the code once, for every attempt of the request. */
function issuing(deps: AppsDeps, caller: Caller, appId: string): (reader: FleetReader) => Promise<Step<IssuedCode>> {
  const { origin } = caller;
  const enrollCode = generateEnrollCode(deps.random);
  const code = { hash: tokenHash(enrollCode.reveal()), issuedAt: origin.at };
  return async (reader) => ({
    ...(await codeStep(caller, reader, appId, code)),
    result: { enrollCode, expiresAt: codeExpiry(origin.at), replayed: false },
  });
}

/** The step that issues a code. @throws Refusal `not_found`; StoreUnavailable; BadRecord */
export async function codeStep(caller: Caller, reader: FleetReader, appId: string, code: NewCode): Promise<Step<void>> {
  const { accountId } = caller;
  const { app, expect, write } = await ownApp(caller, reader, appId);
  return {
    accountId,
    action: 'code.issued',
    appId,
    expect,
    write: [put(KEYS.app(accountId, appId), withCode(app.record, code)), ...write],
    result: undefined,
  };
}
