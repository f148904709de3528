/**
 * The actions of entries that the leader writes at times of its own: sums of refusals at limits, and what became so by
 * itself. No request is the cause of one.
 */
export const TOLD_BY_LEADER = [
  'limit.reached',
  'rate.limited',
  'app.silent',
  'app.back',
  'code.expiring',
  'key.expiring',
  'key.expired',
  'rollout.completed',
  'rollout.failed',
  'rollout.stuck',
  'night.metered',
  'quota.near',
] as const;
