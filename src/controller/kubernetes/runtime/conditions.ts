import type { Condition } from '../schema/common.ts';

/** What a look found of one aspect; the instants and generations are the frame's. */
export interface Finding {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  /** CamelCase. */
  readonly reason: string;
  readonly message: string;
}

export const isTrue = (type: string, reason: string, message: string): Finding => ({
  type,
  status: 'True',
  reason,
  message,
});
export const isFalse = (type: string, reason: string, message: string): Finding => ({
  type,
  status: 'False',
  reason,
  message,
});

/**
 * The conditions after a look: of each type one, in the order of the findings, those of other types after them. An
 * instant moves only with the status.
 */
export function conditionsAfter(
  before: readonly Condition[],
  findings: readonly Finding[],
  { generation, at }: { generation: number; at: string },
): Condition[] {
  const found = findings.map(({ type, status, reason, message }): Condition => {
    const known = before.find((condition) => condition.type === type);
    const lastTransitionTime = known?.status === status ? known.lastTransitionTime : at;
    return { type, status, observedGeneration: generation, lastTransitionTime, reason, message };
  });
  const types = new Set(found.map(({ type }) => type));
  return [...found, ...before.filter(({ type }) => !types.has(type))];
}
