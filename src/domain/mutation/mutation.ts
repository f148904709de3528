import { namesRead } from '../audit/names.ts';
import { PlanReader } from '../fleet/plan-reader.ts';
import type { FleetReader } from '../fleet/reader.ts';
import { writeClassOf } from './actions.ts';
import { beforeAnotherAttempt, commitSteps, committed, refuseLate } from './commit.ts';
import { isUnchanged, stepsOf, type MutationDeps, type Origin, type Plan } from './step.ts';

/**
 * Plans and commits a change until the commit succeeds, the plan refuses, or the time is up. The caller gives up on a
 * store that is slow within an attempt (`Exchange.inTime`).
 * @param first the reader that authenticated the request, for the first attempt
 * @throws Refusal from the guard or the plan; StaleRead from the plan; StoreUnavailable; Busy where the deadline has
 * passed, others changed the record under every attempt, or the account is at its quota
 */
export async function mutate<T>(deps: MutationDeps, origin: Origin, plan: Plan<T>, first?: FleetReader): Promise<T> {
  let reader = new PlanReader(first ?? (await deps.fleet.current()));
  for (let attempt = 1; ; attempt += 1) {
    const relied = await origin.guard?.(reader);
    const step = await plan(reader);
    if (isUnchanged(step)) return step.unchanged;
    refuseLate(deps, origin);
    const steps = stepsOf(step);
    for (const one of steps) {
      const { accountId, action } = one;
      deps.quotas.refuseAtQuota(origin, { accountId, action, writeClass: writeClassOf(one) });
    }
    // The change alone counts: a step that it takes along, such as a new session after the removal of a passkey, must
    // not hold it up.
    if (attempt === 1) deps.quotas.countOwnAct(origin, step);
    const outcome = await commitSteps(
      deps,
      steps.map((one) => ({ origin, step: one })),
      namesRead(reader),
      relied && { expect: relied },
    );
    if (outcome !== 'conflict') {
      for (const one of steps) committed(deps, origin, one);
      return step.result;
    }
    await beforeAnotherAttempt(deps, attempt, origin.deadline);
    reader = new PlanReader(await deps.fleet.current());
  }
}
