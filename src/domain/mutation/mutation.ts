import type { FleetReader } from '../fleet/reader.ts';
import { beforeAnotherAttempt, commitSteps, committed, refuseLate } from './commit.ts';
import { isUnchanged, type MutationDeps, type Origin, type Plan } from './step.ts';

/**
 * Plans and commits until it is done, refused, or out of time. A store that is slow within an attempt is the caller's to
 * give up on (`Exchange.inTime`).
 * @param first the reader that authenticated the request, for the first attempt
 * @throws Refusal from the plan; StoreUnavailable when the store is down or the deadline has passed
 */
export async function mutate<T>(deps: MutationDeps, origin: Origin, plan: Plan<T>, first?: FleetReader): Promise<T> {
  let reader = first ?? (await deps.fleet.current());
  for (let attempt = 1; ; attempt += 1) {
    const step = await plan(reader);
    if (isUnchanged(step)) return step.unchanged;
    refuseLate(deps, origin);
    const outcome = await commitSteps(deps, [{ origin, step }]);
    if (outcome !== 'conflict') {
      committed(deps, origin, step);
      return step.result;
    }
    await beforeAnotherAttempt(deps, attempt, origin.deadline);
    reader = await deps.fleet.current();
  }
}
