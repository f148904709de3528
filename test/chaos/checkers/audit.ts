import { OPERATOR_AUDIT } from '../../../src/domain/records/audit-records.ts';
import type { Written } from '../cluster/follower.ts';
import { isOk, isWrite, type Call } from '../judgement/history.ts';
import { placeOf, type StoredAudit } from '../judgement/state.ts';
import { grouped, named, type Checker, type Outcome, type Violation } from './checker.ts';
import { TOLD_BY_LEADER } from '../../support/records/told-by-itself.ts';

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
  'token.create',
  'token.revoke',
]);

/** They end what a person made, each with an entry of its own. */
const ENDING: ReadonlySet<Call['kind']> = new Set(['person.disable', 'role.take']);

/**
 * Each tells of a refusal, such as that of a secret which a rotation has ended, or of what became so by itself: nobody
 * changed anything.
 */
const REFUSED: ReadonlySet<string> = new Set([
  'enrollment.refused',
  'key.refused',
  'detection.critical',
  ...TOLD_BY_LEADER,
]);

/** Each tells of a record that is none of the account's: an access token is its person's, and may end with others. */
const OF_PERSONS: ReadonlySet<string> = new Set(['access-token.created', 'access-token.revoked']);

/** Tells whether the records that an entry tells of are in the account. */
const isOfAccount = ({ account, action }: StoredAudit): boolean =>
  account !== OPERATOR_AUDIT && !OF_PERSONS.has(action) && !REFUSED.has(action);

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
    const ofRequest = entries.get(call.requestId) ?? [];
    // Whoever takes a role ends the access tokens with it, however many.
    const isOwn = (action: string): boolean => !ENDING.has(call.kind) || !OF_PERSONS.has(action);
    const count = ofRequest.filter(({ action }) => isOwn(action)).length;
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
    (entry) =>
      isOfAccount(entry) &&
      !places.some(
        ({ account, what, id }) =>
          account === entry.account && (entry.app === undefined || what !== 'app' || id === entry.app),
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
