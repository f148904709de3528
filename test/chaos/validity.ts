import { isOk, isWrite, type History } from './history.ts';

/* A run proves something only where the service worked before a fault, and each replica at the end. */

/** Acknowledged requests a second, in the time before a fault. */
export const LOAD_MIN = 20;
export const LOAD_OVER_MS = 3000;

/** Acknowledged requests a second before the instant. */
export function loadBefore({ calls }: Pick<History, 'calls'>, at: number): number {
  const done = calls.filter((call) => call.end <= at && call.end > at - LOAD_OVER_MS && isOk(call));
  return done.length / (LOAD_OVER_MS / 1000);
}

/** In words why the run proves nothing; empty when it does. */
export function invalidities(history: History): string[] {
  const faults = history.marks.filter(({ what }) => what === 'fault');
  const idle = faults.flatMap(({ name, from }) => {
    const load = loadBefore(history, from);
    return load >= LOAD_MIN
      ? []
      : [`before ${name} only ${load.toFixed(1)} requests a second were acknowledged, of ${LOAD_MIN}`];
  });
  const unwell = [0, 1, 2].flatMap((replica) => {
    const last = history.calls.findLast((call) => call.replica === replica && isWrite(call));
    if (last === undefined) return [`nothing was asked of replica ${replica}`];
    return isOk(last)
      ? []
      : [`the last operation on replica ${replica} failed: ${last.kind}, ${last.status} ${last.code}`];
  });
  return [...(faults.length === 0 ? ['nothing was broken'] : []), ...idle, ...unwell];
}
