import type { Written } from '../cluster/follower.ts';
import { isOk, isWrite, type Call } from '../judgement/history.ts';
import { placeOf } from '../judgement/state.ts';
import { grouped, named, type Checker, type Outcome, type Violation } from './checker.ts';

/** Each leaves one entry: the others may find that all is as it was asked to be. */
const ALWAYS: ReadonlySet<Call['kind']> = new Set([
  'app.create',
  'app.delete',
  'code.issue',
  'otel.write',
  'account.create',
  'key.create',
  'key.narrow',
  'key.rotate',
  'key.revoke',
]);

/** Each is the record of a refusal, such as that of a secret which a rotation has ended: nothing changed. */
const REFUSED: ReadonlySet<string> = new Set(['enrollment.refused', 'key.refused']);

/**
 * One entry for each mutation, in the same revision: acknowledged ones have theirs, nothing has two, none stands alone.
 */
export const audit: Checker = (history, outcome) => [
  ...perRequest(history.calls, outcome),
  ...outcome.written.flatMap(perRevision),
];

function perRequest(calls: readonly Call[], { state }: Outcome): Violation[] {
  const entries = grouped(
    state.audits.filter(({ action }) => !REFUSED.has(action)),
    ({ requestId }) => requestId,
  );
  return calls.filter(isWrite).flatMap((call) => {
    const count = entries.get(call.requestId)?.length ?? 0;
    const least = isOk(call) && ALWAYS.has(call.kind) ? 1 : 0;
    if (count >= least && count <= 1) return [];
    const words = `${named(call)}, answered ${call.status}, has ${count} entries in the audit`;
    return [{ rule: 'audit', at: call.end, words }];
  });
}

/** How much an account stores is what the service counts, and nobody's change. */
const COUNTED = 'stored';

function perRevision({ revision, audits, touched }: Written): Violation[] {
  const places = touched.flatMap((key) => placeOf(key) ?? []).filter(({ what }) => what !== COUNTED);
  const silent = places.filter(({ account, what, id }) => {
    const ofAccount = audits.filter((entry) => entry.account === account);
    return what === 'app' ? !ofAccount.some(({ app }) => app === id) : ofAccount.length === 0;
  });
  const alone = audits.filter(
    ({ action, account, app }) =>
      !REFUSED.has(action) &&
      !places.some(
        (place) => place.account === account && (app === undefined || place.what !== 'app' || place.id === app),
      ),
  );
  return [
    ...silent.map(
      ({ account, what, id }) => `revision ${revision} changed ${what} ${id} of ${account} without an entry`,
    ),
    ...alone.map(
      ({ action, account }) => `revision ${revision} has the entry ${action} of ${account} and nothing else of it`,
    ),
  ].map((words) => ({ rule: 'audit', words }));
}
