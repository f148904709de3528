import * as z from 'zod';
import { expectAbsent } from '../../store/port.ts';
import { generateAppId } from '../credentials/random-ids.ts';
import { generateEnrollCode, tokenHash } from '../credentials/tokens.ts';
import type { FleetReader } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import type { CountersPlan, CountersStep } from '../mutation/account-queue.ts';
import { authorisedBy, type Authorised } from '../mutation/authority.ts';
import type { IdempotencyKey } from '../mutation/idempotency.ts';
import { put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { CountersRecord } from '../records/account-records.ts';
import { Refusal } from '../refusal.ts';
import { appCreation, type TransitionDeps } from '../status-history/status-change.ts';
import { codeExpiry, newApp, type NewCode } from './app-state.ts';
import { answered, readCode, recordedCode, recording, type IssuedCode } from './issue-code.ts';
import type { AppsDeps, Caller } from './own-app.ts';

/** An app that was created, with its first enrollment code. */
export interface CreatedApp extends IssuedCode {
  readonly appId: string;
  readonly name: string;
}

/** See `Apps.create`. */
export async function createApp(
  deps: AppsDeps,
  caller: Caller,
  name: string,
  asked?: IdempotencyKey,
): Promise<CreatedApp> {
  const { accountId, origin } = caller;
  const appId = generateAppId(deps.random);
  const enrollCode = generateEnrollCode(deps.random);
  const code = { hash: tokenHash(enrollCode.reveal()), issuedAt: origin.at };
  const created: CreatedApp = { appId, name, enrollCode, expiresAt: codeExpiry(origin.at), replayed: false };

  const plan: CountersPlan<CreatedApp> = async (reader, counters) => {
    const authorised = await authorisedBy(reader, accountId, caller.authority);
    const { restrictedKeyId } = authorised;
    const found = asked && (await answered(deps, caller, { reader, restrictedKeyId }, asked));
    if (found && 'answer' in found) return { unchanged: readApp(found.answer) };
    const creation = await creationStep(deps, caller, { reader, counters, authorised }, { appId, name, code });
    const step = { ...creation, result: created };
    return found ? await recording(step, found) : step;
  };
  return await deps.queues(accountId, origin, plan, caller.reader);
}

/** The records that the plan of a creation has read. */
interface CreationRead {
  readonly reader: FleetReader;
  readonly counters: CountersRecord;
  readonly authorised: Authorised;
}

/**
 * The step that creates a pending app (A10).
 * @param app the code is undefined where none is issued yet
 * @throws Refusal `limit_reached`; StoreUnavailable
 */
export async function creationStep(
  deps: TransitionDeps,
  { accountId, origin }: Caller,
  { reader, counters, authorised }: CreationRead,
  { appId, name, code }: { appId: string; name: string; code?: NewCode },
): Promise<CountersStep<void>> {
  if (counters.apps >= LIMITS.appsPerAccountMax) throw new Refusal('limit_reached');
  const key = KEYS.app(accountId, appId);
  const creation = await appCreation(deps, reader, origin.at);
  const { createdByKey } = authorised;
  const app = { ...newApp(name, counters.nextSlot, origin.at, code), statusAt: creation.at };
  const record = createdByKey === undefined ? app : { ...app, createdByKey };
  return {
    accountId,
    action: 'app.created',
    appId,
    countsAt: creation.at,
    expect: [...authorised.expect, expectAbsent(key), ...creation.expect],
    write: [put(key, record), ...authorised.write, ...creation.write],
    counters: { ...counters, apps: counters.apps + 1, nextSlot: counters.nextSlot + 1 },
    result: undefined,
  };
}

const recordedApp = recordedCode.extend({ appId: z.string(), name: z.string() });

function readApp(answer: string): CreatedApp {
  const { appId, name } = recordedApp.parse(JSON.parse(answer));
  return { ...readCode(answer), appId, name };
}
