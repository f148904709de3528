import type { Written } from '../cluster/follower.ts';
import { ACCOUNT_FIELDS, isOk, type Call } from '../judgement/history.ts';
import type { StoredAccount } from '../judgement/state.ts';
import { grouped, named, type Checker, type Violation } from './checker.ts';

/*
 * Every revision of an account's record changes what its own entries of the audit say, and nothing else: a change that
 * was planned upon an older record would bring older values of other fields back. An enrollment is never committed
 * while the account is disabled, whatever the account was when it was judged (A12).
 */

const rule = 'lost-update';

export const lostUpdate: Checker = ({ calls }, { written }) => {
  const callOf = new Map(calls.map((call) => [call.requestId, call]));
  const before = new Map<string, StoredAccount>();
  const seen = new Set<string>();
  const violations: Violation[] = [];
  for (const revision of [...written].sort((a, b) => a.revision - b.revision)) {
    violations.push(...enrolledWhileDisabled(revision, before));
    for (const after of revision.accounts) {
      const changes = revision.audits.filter(({ account }) => account === after.account);
      const asked = changes.flatMap(({ requestId }) => callOf.get(requestId) ?? []);
      // A request that has no answer yet is in no history, while the load goes on.
      if (asked.length === changes.length) {
        violations.push(...foreignChanges(revision, before.get(after.account), after, asked));
        violations.push(...foreignEnd(revision, before.get(after.account), after, asked));
      }
      for (const field of ACCOUNT_FIELDS) seen.add(placeOf(after.account, field, after.fields[field]));
      before.set(after.account, after);
    }
  }
  return [...violations, ...neverWritten(calls, seen, before)];
};

const placeOf = (account: string, field: string, value: string): string => JSON.stringify([account, field, value]);

function enrolledWhileDisabled({ revision, audits }: Written, before: ReadonlyMap<string, StoredAccount>): Violation[] {
  return audits
    .filter(({ action, account }) => action === 'app.enrolled' && before.get(account)?.fields.disabled === 'true')
    .map(({ account, app }) => ({
      rule,
      words: `revision ${revision} enrolls ${app} of ${account}, which was disabled before`,
    }));
}

/** Fields that no request of this revision asked to be so. */
function foreignChanges(
  { revision }: Written,
  before: StoredAccount | undefined,
  after: StoredAccount,
  asked: readonly Call[],
): Violation[] {
  const wanted = grouped(asked, ({ asked: { field } }) => field);
  return ACCOUNT_FIELDS.flatMap((field) => {
    const value = after.fields[field];
    const changes = wanted.get(field);
    const isRight = changes
      ? changes.some(({ asked: { value: wish } }) => wish === value)
      : before === undefined || before.fields[field] === value;
    if (isRight) return [];
    const words = `revision ${revision} makes the ${field} of ${after.account} '${value}', which nobody asked of it`;
    return [{ rule, words }];
  });
}

/** A consent has an end, which comes and goes with it: no other change keeps it for the next one, or brings it back. */
function foreignEnd(
  { revision }: Written,
  before: StoredAccount | undefined,
  after: StoredAccount,
  asked: readonly Call[],
): Violation[] {
  const isGiven = asked.some(({ asked: { field } }) => field === 'adoptableBy');
  const isWhole = (after.consentEnd === '') === (after.fields.adoptableBy === '');
  const isKept = isGiven ? after.consentEnd !== (before?.consentEnd ?? '') : after.consentEnd === before?.consentEnd;
  if (before === undefined ? isWhole : isWhole && isKept) return [];
  const words = `revision ${revision} makes '${after.consentEnd}' the end of the consent of ${after.account}`;
  return [{ rule, words }];
}

/** What was acknowledged stood in the record at some time; accounts whose record nobody has seen tell nothing. */
function neverWritten(
  calls: readonly Call[],
  seen: ReadonlySet<string>,
  known: ReadonlyMap<string, StoredAccount>,
): Violation[] {
  return calls.filter(isOk).flatMap((call) => {
    const { account = '', field, value = '' } = call.asked;
    if (field === undefined || !known.has(account) || seen.has(placeOf(account, field, value))) return [];
    return [{ rule, at: call.end, words: `${named(call)}: the ${field} '${value}' was never stored` }];
  });
}
