import { isOk, isWrite, latestEffect, type Call } from '../judgement/history.ts';
import type { State } from '../judgement/state.ts';
import { grouped, named, type Checker, type Violation } from './checker.ts';

/*
 * Nothing acknowledged is lost. A request without a good answer may have happened or not, and at any later time; so
 * what must be there is what was acknowledged, where nothing that could undo it was asked for at that time or after it,
 * or hangs since before.
 */

const rule = 'kept';

export const kept: Checker = ({ calls }, { state }) => [
  ...apps(calls, state),
  ...endpoints(calls, state),
  ...keys(calls, state),
  ...readsAfterWrites(calls),
];

/**
 * Whether the other call may have taken effect after this one: calls that overlap have no known order, and those that
 * meet in one millisecond may overlap.
 */
const mayFollow = (call: Call, other: Call): boolean => other !== call && latestEffect(other) >= call.start;

function apps(calls: readonly Call[], { apps: stored }: State): Violation[] {
  const writes = grouped(calls.filter(isWrite), ({ asked, told }) => asked.app ?? told.app);
  return [...writes].flatMap(([app, ofApp]) => {
    const found = stored.get(app);
    const lost = (call: Call, words: string): Violation[] => [
      { rule, at: call.end, words: `${named(call)}: ${app} ${words}` },
    ];
    const undone = (call: Call, ...kinds: Call['kind'][]): boolean =>
      ofApp.some((other) => kinds.includes(other.kind) && mayFollow(call, other));
    return ofApp.filter(isOk).flatMap((call) => {
      if (call.kind === 'app.delete') return found ? lost(call, 'is still there') : [];
      if (undone(call, 'app.delete')) return [];
      if (!found) return lost(call, 'is gone');
      if (call.kind === 'app.revoke') {
        return found.status === 'revoked' || undone(call, 'enroll') ? [] : lost(call, `is ${found.status}`);
      }
      if (call.kind !== 'enroll' || undone(call, 'app.revoke', 'enroll')) return [];
      const credential = call.asked.credential ?? call.told.credential;
      return found.status === 'active' && found.credential === credential
        ? []
        : lost(call, `is ${found.status}, or another's`);
    });
  });
}

/** The last one that was acknowledged stands, or one that may have come after it. */
function endpoints(calls: readonly Call[], { endpoints: stored }: State): Violation[] {
  const changes = calls.filter(({ kind }) => kind === 'otel.write' || kind === 'otel.purge');
  return [...grouped(changes, ({ asked }) => asked.account)].flatMap(([account, ofAccount]) => {
    const acknowledged = ofAccount.filter(isOk);
    const mayBeLast = ofAccount.filter((change) => !acknowledged.some((after) => after.start > latestEffect(change)));
    const found = stored.get(account);
    if (acknowledged.length === 0 || mayBeLast.some(({ asked }) => asked.value === found)) return [];
    return [{ rule, words: `${account} has the endpoint ${found}, which was not the last one stored` }];
  });
}

function keys(calls: readonly Call[], { accounts }: State): Violation[] {
  const revoking = new Set(calls.filter(({ kind }) => kind === 'key.revoke').map(({ asked }) => asked.target));
  return calls.filter(isOk).flatMap((call) => {
    const { kind, asked, told, end } = call;
    const found = accounts.get(asked.account ?? told.account ?? '');
    if (kind === 'account.create' && !found)
      return [{ rule, at: end, words: `${named(call)}: ${told.account} is gone` }];
    if (kind === 'key.revoke' && found?.keys.has(asked.target ?? ''))
      return [{ rule, at: end, words: `${named(call)}: the key is there` }];
    if (kind !== 'key.create' || revoking.has(told.target) || found?.keys.has(told.target ?? '')) return [];
    return [{ rule, at: end, words: `${named(call)}: the key ${told.target} is gone` }];
  });
}

/** A created app is found by every request that starts later, through any replica; a deleted one by none. */
function readsAfterWrites(calls: readonly Call[]): Violation[] {
  return [...grouped(calls, ({ asked, told }) => asked.app ?? told.app).values()].flatMap((ofApp) => {
    const created = ofApp.find((call) => call.kind === 'app.create' && isOk(call));
    const deleting = ofApp.filter(({ kind }) => kind === 'app.delete');
    const deleted = deleting.find(isOk);
    return ofApp
      .filter(({ kind, asked }) => kind === 'app.read' && asked.account === created?.asked.account)
      .flatMap((read) => {
        const mayBeGone = deleting.some(({ start }) => start < read.end);
        const isLost = read.status === 404 && created !== undefined && read.start > created.end && !mayBeGone;
        const isBack = read.status === 200 && deleted !== undefined && read.start > deleted.end;
        return isLost || isBack
          ? [{ rule, at: read.end, words: `${named(read)} was answered ${read.status}, wrongly` }]
          : [];
      });
  });
}
