/** A number in [0, 1) that spreads retries and choices. It is predictable: nothing secret may depend on it. */
export const jitter = (): number => Math.random();
