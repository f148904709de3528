/** H19: tells an answer that was given before. */
export const REPLAYED: readonly string[] = ['Idempotency-Replayed', 'true'];
