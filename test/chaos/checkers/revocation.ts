import { isOk, keyIdOf, latestEffect, type Call, type Facts, type History, type Kind } from '../judgement/history.ts';
import { grouped, named, type Checker, type Violation } from './checker.ts';

/*
 * Once a revocation is answered, no request that starts later is accepted, by any replica (A12). A credential or key
 * ends for good when its app is revoked, deleted or enrolled anew (A4), or the key is revoked, and the secret of a key
 * by a rotation without grace; it ends until the account is enabled again when the account is disabled. An access token
 * ends when it is revoked, and whatever lets a person in when the person is disabled; a person without the role on the
 * installation, which nobody gives back here, does nothing any more.
 */

/** Authenticated: it was refused later, if at all. A service that cannot tell refuses everybody. */
const isAccepted = ({ status }: Call): boolean => ![0, 401, 502, 503].includes(status);

/** From `from` on every request of the bearer that ends by `until` must be refused. */
interface Ban {
  readonly from: number;
  readonly until: number;
  readonly by: Call;
}

export const revocation: Checker = (history) => {
  const bans = {
    credential: bannedCredentials(history),
    key: bannedBy('key.revoke', history),
    secret: bannedBy('key.rotate', history),
    account: bannedAccounts(history),
    bearer: bannedBy('token.revoke', history),
    person: bannedBy('person.disable', history, ({ person }) => person),
    role: bannedBy('role.take', history, ({ person }) => person),
  };
  const accountOfApp = new Map(
    history.calls.flatMap(({ asked, told }) => {
      const [app, account] = [asked.app ?? told.app, asked.account];
      return app !== undefined && account !== undefined ? [[app, account] as const] : [];
    }),
  );
  const violations: Violation[] = [];
  for (const call of history.calls.filter(isAccepted)) {
    const { asked } = call;
    const { key = '', credential = '', bearer = '', person = '' } = asked;
    const ofPerson = bearer === '' ? [] : [bans.bearer.get(bearer), bans.person.get(person), roleBans(call)];
    const bearers =
      call.kind === 'poll'
        ? bans.credential.get(credential)
        : [bans.key.get(keyIdOf(key)), bans.secret.get(key), ...ofPerson].flatMap((some) => some ?? []);
    const isOperators = asked.key === undefined && call.kind !== 'poll' && call.kind !== 'enroll';
    const account = asked.account ?? accountOfApp.get(asked.app ?? '') ?? '';
    const all = [...(bearers ?? []), ...((isOperators ? undefined : bans.account.get(account)) ?? [])];
    const broken = all.find(({ from, until }) => call.start > from && call.end < until);
    if (!broken) continue;
    const late = Math.round(call.start - broken.from);
    const words = `${named(call)} was answered ${call.status}, ${late} ms after ${named(broken.by)} was answered`;
    violations.push({ rule: 'revocation', at: call.start, words });
  }
  return violations;

  /** Without the role the session is good all the same: what it does is refused otherwise. */
  function roleBans(call: Call): readonly Ban[] {
    return isOk(call) ? (bans.role.get(call.asked.person ?? '') ?? []) : [];
  }
};

const forGood = (by: Call): Ban => ({ from: by.end, until: Number.POSITIVE_INFINITY, by });

function bannedBy(
  kind: Kind,
  { calls }: History,
  whom: (asked: Facts) => string | undefined = ({ target }) => target,
): ReadonlyMap<string, Ban[]> {
  const ended = calls.filter((call) => call.kind === kind && isOk(call));
  const byName = grouped(ended, ({ asked }) => whom(asked));
  return new Map([...byName].map(([name, all]) => [name, all.map(forGood)]));
}

/** The credentials of each app that were certainly bound before its end, or before another one was bound. */
function bannedCredentials({ calls }: History): ReadonlyMap<string, Ban[]> {
  const bans = new Map<string, Ban[]>();
  for (const ofApp of grouped(calls, ({ asked }) => asked.app).values()) {
    const enrolled = ofApp.filter((call) => call.kind === 'enroll' && isOk(call));
    const ends = ofApp.filter((call) => (call.kind === 'app.revoke' || call.kind === 'app.delete') && isOk(call));
    for (const { asked, told, end } of enrolled) {
      const credential = asked.credential ?? told.credential ?? '';
      const swaps = enrolled.filter((swap) => (swap.asked.credential ?? swap.told.credential) !== credential);
      const after = [...ends, ...swaps].filter(({ start }) => start > end);
      bans.set(credential, [...(bans.get(credential) ?? []), ...after.map(forGood)]);
    }
  }
  return bans;
}

/** An account is banned until the next attempt to enable it, whatever its answer. */
function bannedAccounts({ calls }: History): ReadonlyMap<string, Ban[]> {
  const byAccount = grouped(calls, ({ asked }) => asked.account);
  return new Map(
    [...byAccount].map(([account, ofAccount]) => {
      const enabling = ofAccount.filter(({ kind }) => kind === 'account.enable');
      const disabled = ofAccount.filter((call) => call.kind === 'account.disable' && isOk(call));
      const bans = disabled.map((by) => {
        const isCrossed = enabling.some((undo) => undo.start < by.end && latestEffect(undo) > by.start);
        const later = enabling.map(({ start }) => start).filter((start) => start >= by.end);
        return { from: by.end, until: isCrossed ? by.end : Math.min(...later, Number.POSITIVE_INFINITY), by };
      });
      return [account, bans.filter(({ from, until }) => from < until)] as const;
    }),
  );
}
