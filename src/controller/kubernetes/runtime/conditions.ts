import type { Condition } from '../schema/common.ts';

/** The state of one condition, before the frame adds the instant of its last transition and the generation. */
export interface ConditionState {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  /** CamelCase. */
  readonly reason: string;
  readonly message: string;
}

/** A condition with the status `True`. */
export const isTrue = (type: string, reason: string, message: string): ConditionState => ({
  type,
  status: 'True',
  reason,
  message,
});
/** A condition with the status `False`. */
export const isFalse = (type: string, reason: string, message: string): ConditionState => ({
  type,
  status: 'False',
  reason,
  message,
});

/** A condition with the status `Unknown`. */
export const isUnknown = (type: string, reason: string, message: string): ConditionState => ({
  type,
  status: 'Unknown',
  reason,
  message,
});

/**
 * The conditions after a reconciliation: one for each type, in the order of the states, and after them those of other
 * types as they were. The instant of the last transition moves only when the status changes.
 */
export function conditionsAfter(
  before: readonly Condition[],
  conditions: readonly ConditionState[],
  { generation, at }: { generation: number; at: string },
): Condition[] {
  const found = conditions.map(({ type, status, reason, message }): Condition => {
    const known = before.find((condition) => condition.type === type);
    const lastTransitionTime = known?.status === status ? known.lastTransitionTime : at;
    return { type, status, observedGeneration: generation, lastTransitionTime, reason, message };
  });
  const types = new Set(found.map(({ type }) => type));
  return [...found, ...before.filter(({ type }) => !types.has(type))];
}
