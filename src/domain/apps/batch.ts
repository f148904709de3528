import type { CountersPlan } from '../mutation/account-queue.ts';
import type { IdempotencyKey } from '../mutation/idempotency.ts';
import { mutate } from '../mutation/mutation.ts';
import { requestFields } from '../mutation/step.ts';
import { NO_COUNTERS } from '../records/account-records.ts';
import { Refusal } from '../refusal.ts';
import { itemsOf, keysOf, type AppBatch, type AppOutcome } from './batch-items.ts';
import { planPart, type Part, type PartRequest } from './batch-part.ts';
import { removeLeftovers } from './delete-app.ts';
import type { AppsDeps, Caller } from './own-app.ts';

/*
 * P15: a batch goes in parts, one commit each, with as many apps as a commit has room for. What a part relies on is
 * expected as for a single app, and each app has its own audit entry. A part that was committed stays: its apps are in
 * the kept answer (batch-answers.ts), so that a repetition after an outage goes on where this request ended.
 */

/** See `Apps.changeMany`. */
export async function changeMany(
  deps: AppsDeps,
  caller: Caller,
  batch: AppBatch,
  asked: IdempotencyKey | undefined,
): Promise<readonly AppOutcome[]> {
  const outcomes = new Map<string, AppOutcome>();
  let left = itemsOf(deps.random, batch, caller.origin.at);
  while (left.length > 0) {
    const settled = await settledPart(deps, caller, { change: batch.change, left, asked });
    for (const [key, outcome] of settled) outcomes.set(key, outcome);
    left = left.filter(({ key }) => !settled.has(key));
  }
  logReplays(deps, caller, outcomes);
  return keysOf(batch).flatMap((key) => outcomes.get(key) ?? []);
}

/** Commits one part. @returns the outcomes of its apps: those of one or more */
async function settledPart(
  deps: AppsDeps,
  caller: Caller,
  request: PartRequest,
): Promise<ReadonlyMap<string, AppOutcome>> {
  const { accountId, origin } = caller;
  const plan: CountersPlan<Part> = (reader, counters) => planPart(deps, caller, { reader, counters }, request);
  try {
    // A revocation writes no counters, and waits for nobody who does.
    const part =
      request.change === 'revoke'
        ? await mutate(deps, origin, (reader) => plan(reader, NO_COUNTERS))
        : await deps.queues(accountId, origin, plan);
    for (const [appId, leftovers] of part.leftovers) removeLeftovers(deps, accountId, appId, leftovers);
    return part.outcomes;
  } catch (error) {
    // There is no place for the first app of the part: so there is none for the others.
    if (!(error instanceof Refusal) || error.code !== 'limit_reached') throw error;
    return new Map(request.left.map(({ key }) => [key, { error: 'limit_reached' }]));
  }
}

/** No audit has it, since nothing is changed; yet secrets may be told once more. */
function logReplays(
  { log }: Pick<AppsDeps, 'log'>,
  { accountId, origin }: Caller,
  outcomes: ReadonlyMap<string, AppOutcome>,
): void {
  const apps = Array.from(outcomes.values()).filter((one) => 'appId' in one && one.replayed).length;
  if (apps === 0) return;
  const { actor, client } = origin;
  log.info({ actor, ...requestFields(origin), client, accountId, apps }, 'a batch was answered again');
}
