import { LIMITS } from '../../../src/domain/limits.ts';
import { LOOKS_BACK_MS } from '../../chaos/checkers/early-refusal.ts';
import { isOk, latestEffect, type Call, type History, type Kind } from '../../chaos/judgement/history.ts';
import { HAMMER } from '../../chaos/judgement/validity.ts';

/*
 * The judges of neighbouring versions, beside the rules of the chaos suite. They are pure; each returns a list of
 * sentences.
 */

/** A request without a clear answer has taken effect by then, or never will. */
const SETTLED_MS = 30_000;

/** Calls in groups: those of a group overlap, and each group begins when the one before it has ended. */
function rounds(calls: readonly Call[]): Call[][] {
  const groups: Call[][] = [];
  let end = Number.NEGATIVE_INFINITY;
  for (const call of [...calls].sort((a, b) => a.start - b.start)) {
    if (call.start > end) groups.push([]);
    groups.at(-1)?.push(call);
    end = Math.max(end, call.end);
  }
  return groups;
}

/** It may still happen. Where the connection was refused nothing was asked. */
const isOpen = (call: Call): boolean => call.failure !== 'refused' && latestEffect(call) > call.end;

const OF_LIMIT: ReadonlySet<Kind> = new Set(['app.create', 'app.delete', 'app.list']);

/**
 * A10, exact: of the creates that race for the last places so many succeed as there are places, not one more or fewer.
 * @param apps how many the account has when the history begins
 */
export function limitFaults({ calls }: Pick<History, 'calls'>, account: string, apps: number): string[] {
  const faults: string[] = [];
  let known: number | undefined = apps;
  let unclearUntil = Number.NEGATIVE_INFINITY;
  for (const round of rounds(calls.filter(({ asked, kind }) => asked.account === account && OF_LIMIT.has(kind)))) {
    const count = (kind: Kind, holds: (call: Call) => boolean): number =>
      round.filter((call) => call.kind === kind && holds(call)).length;
    const [made, gone] = [count('app.create', isOk), count('app.delete', isOk)];
    const judged = made + count('app.create', ({ code }) => code === 'limit_reached');
    const writes = round.filter(({ kind }) => kind !== 'app.list');
    if (writes.some(isOpen)) {
      known = undefined;
      unclearUntil = Math.max(...round.map(({ end }) => end)) + SETTLED_MS;
    }
    const start = Math.min(...round.map((call) => call.start));
    const listed = writes.length === 0 ? round.find(({ told }) => told.count !== undefined)?.told.count : undefined;
    if (known === undefined && start > unclearUntil) known = listed;
    if (known === undefined) continue;
    if (listed !== undefined && listed !== known)
      faults.push(`at ${Math.round(start)} ${known} apps, and ${listed} listed`);
    const places = Math.min(LIMITS.appsPerAccountMax - known, judged);
    if (gone === 0 && made !== places) {
      faults.push(`at ${Math.round(start)} ${made} of ${judged} creates succeeded, with ${known} apps before`);
    }
    known += made - gone;
  }
  return faults;
}

interface Ledgers {
  /** `<accountId> <day>` → `<active> <digest>`, as it is recorded. */
  readonly recorded: Readonly<Record<string, string>>;
  readonly expected: Readonly<Record<string, string>>;
  /** How often each record of the ledger was written, by its key in the store. */
  readonly writes: ReadonlyMap<string, number>;
}

/** M2: one record for each account and night, written once, and with the sum that the audit explains. */
export function ledgerFaults({ recorded, expected, writes }: Ledgers): string[] {
  const faults: string[] = [];
  for (const [night, sum] of Object.entries(expected)) {
    if (recorded[night] === undefined) faults.push(`${night} is not recorded`);
    else if (recorded[night] !== sum) faults.push(`${night} is recorded as ${recorded[night]}, and was ${sum}`);
  }
  for (const night of Object.keys(recorded)) {
    if (expected[night] === undefined) faults.push(`${night} is recorded, and was none`);
  }
  for (const [key, times] of writes) if (times !== 1) faults.push(`${key} was written ${times} times`);
  if (writes.size !== Object.keys(recorded).length) {
    faults.push(`${writes.size} records were written, and ${Object.keys(recorded).length} are there`);
  }
  return faults;
}

/** A replica that stands still for longer may count as dead, and takes its leased units of a window with it. */
const STALL_MS = 500;

/**
 * The history with just those marks in which a replica may have taken units along. One that ends in order gives them
 * back: nobody is refused early over an upgrade. Where this process did not run, a replica beside it may not have
 * either.
 */
export const troubledHistory = (history: History): History => ({
  calls: history.calls,
  stalls: history.stalls,
  markerOf: history.markerOf,
  marks: [
    ...history.marks.filter(({ what }) => what === 'stopped'),
    ...history.stalls
      .filter(({ from, until }) => until - from > STALL_MS)
      .map(({ from, until }) => ({ what: 'stopped' as const, name: 'stall', from, until })),
  ],
});

/** Refusals by the limit that the rule against early ones could judge: no process stood still shortly before. */
const judgedRefusals = ({ calls, marks }: History): number =>
  calls.filter(
    ({ client, status, start, end }) =>
      client === HAMMER &&
      status === 429 &&
      start >= LOOKS_BACK_MS &&
      !marks.some((mark) => mark.what === 'stopped' && mark.from <= end && mark.until >= start - LOOKS_BACK_MS),
  ).length;

const THROUGH_BOTH: readonly Kind[] = [
  'app.create',
  'app.revoke',
  'app.delete',
  'enroll',
  'poll',
  'otel.write',
  'otel.read',
  'key.revoke',
  'account.disable',
];

/** Why the run proves nothing; empty when it does. */
export function vacuities(history: History): string[] {
  const { calls } = history;
  const through = (place: number, holds: (call: Call) => boolean): boolean =>
    calls.some((call) => call.replica % 2 === place && holds(call));
  return [0, 1]
    .flatMap((place) => [
      ...THROUGH_BOTH.filter((kind) => !through(place, (call) => call.kind === kind && isOk(call))).map(
        (kind) => `no ${kind} was acknowledged by replica ${place}`,
      ),
      ...(['limit_reached', 'rate_limited', 'invalid_key', 'invalid_credential', 'account_disabled'] as const)
        .filter((code) => !through(place, (call) => call.code === code))
        .map((code) => `replica ${place} never refused with ${code}`),
    ])
    .concat(judgedRefusals(history) > 0 ? [] : ['no refusal by the limit could be judged']);
}
