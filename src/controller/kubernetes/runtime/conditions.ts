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

/** The condition by which a release says that it does not act; the release that acts leaves it as it is. */
export const CONFLICT_CONDITION = 'OperatorConflict';

/** The text with exactly one full stop at its end, whatever it ended with: for messages of conditions and events. */
export function sentence(text: string): string {
  const told = text.replace(/[\s.]+$/, '');
  return told === '' ? '' : `${told}.`;
}

/**
 * Reasons of `Ready=False` that no waiting mends: somebody changes the spec, or replaces the resource. `Stalled` is
 * true with them, which kstatus, Flux and Argo CD take for a failure rather than for work that goes on (ADR 0039).
 */
export const STALLED: ReadonlySet<string> = new Set([
  'InvalidEndpoint',
  'ChangedOutside',
  'CodeExpired',
  'CredentialLost',
  'KeyExpired',
  'EnrolledOutside',
  'Revoked',
  'ManagedByAnother',
  'AccountMissing',
  'FormerBinding',
  'SecretNotOwned',
]);

/** The states with `Stalled` behind `Ready` where it is so; there is no `Stalled` otherwise, as kstatus has it. */
function withStalled(states: readonly ConditionState[]): readonly ConditionState[] {
  return states.flatMap((state) =>
    state.type === 'Ready' && state.status === 'False' && STALLED.has(state.reason)
      ? [state, isTrue('Stalled', state.reason, state.message)]
      : [state],
  );
}

/**
 * The conditions after a reconciliation: one for each type, in the order of the states, and after them those of other
 * types as they were. With `Ready` among the states `Stalled` is there as that has it. The instant of the last
 * transition moves only when the status changes.
 */
export function conditionsAfter(
  before: readonly Condition[],
  conditions: readonly ConditionState[],
  { generation, at }: { generation: number; at: string },
): Condition[] {
  const found = withStalled(conditions).map(({ type, status, reason, message }): Condition => {
    const known = before.find((condition) => condition.type === type);
    const lastTransitionTime = known?.status === status ? known.lastTransitionTime : at;
    const told = { lastTransitionTime, reason, message: sentence(message) };
    return { type, status, observedGeneration: generation, ...told };
  });
  const types = new Set(found.map(({ type }) => type));
  if (types.has('Ready')) types.add('Stalled');
  return [...found, ...before.filter(({ type }) => !types.has(type))];
}
