import { isOk, type Call, type History, type Kind } from './history.ts';

/* A run proves something only where the service worked before a fault and at the end, and the suite saw all of it. */

/** Acknowledged requests a second, in the time before a fault. */
export const LOAD_MIN = 20;
export const LOAD_OVER_MS = 3000;

/** The requests at the end: each replica must answer each of them. */
export const CLOSING = 'closing';
export const LAST_WORDS: readonly Kind[] = ['app.create', 'enroll', 'poll'];
/** The client that asks for more than its share. */
export const HAMMER = 'hammer';

/** Acknowledged requests a second before the instant. */
export function loadBefore({ calls }: Pick<History, 'calls'>, at: number): number {
  const done = calls.filter((call) => call.end <= at && call.end > at - LOAD_OVER_MS && isOk(call));
  return done.length / (LOAD_OVER_MS / 1000);
}

/** Whether the limit refused a request that began after the instant. */
export const metLimit = ({ calls }: Pick<History, 'calls'>, since: number): boolean =>
  calls.some(({ client, start, status }) => client === HAMMER && start >= since && status === 429);

/**
 * The reasons, in words, why the run proves nothing; empty when it does prove something.
 * @param missedRevisions the number of revisions of the store that the suite could not read
 */
export function invalidities(history: History, missedRevisions: number): string[] {
  const faults = history.marks.filter(({ what }) => what === 'fault');
  return [
    ...(faults.length === 0 ? ['nothing was broken'] : []),
    ...faults.flatMap(({ name, from }) => {
      const load = loadBefore(history, from);
      return load >= LOAD_MIN
        ? []
        : [`before ${name} only ${load.toFixed(1)} requests a second were acknowledged, of ${LOAD_MIN}`];
    }),
    ...[0, 1, 2].flatMap((replica) => lastWords(history.calls, replica)),
    ...unlimited(history),
    ...(missedRevisions === 0
      ? []
      : [`${missedRevisions} revisions of the store were compacted before they were seen`]),
  ];
}

function lastWords(calls: readonly Call[], replica: number): string[] {
  return LAST_WORDS.flatMap((kind) => {
    const last = calls.findLast((call) => call.client === CLOSING && call.replica === replica && call.kind === kind);
    if (last === undefined) return [`replica ${replica} was not asked for a last ${kind}`];
    return isOk(last) ? [] : [`the last ${kind} on replica ${replica} failed: ${last.status} ${last.code}`];
  });
}

/** A client that never met the limit has not tested it: it must meet it before the faults, and after them. */
function unlimited(history: History): string[] {
  const faults = history.marks.filter(({ what }) => what === 'fault');
  const first = Math.min(...faults.map(({ from }) => from));
  const last = Math.max(0, ...faults.map(({ until }) => until));
  const before = { calls: history.calls.filter(({ end }) => end <= first) };
  return [
    ...(metLimit(before, 0) ? [] : ['nobody met the limit of requests before the first fault']),
    ...(metLimit(history, last) ? [] : ['nobody met the limit of requests after the last fault']),
  ];
}
