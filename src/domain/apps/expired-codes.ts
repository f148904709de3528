import { expectUnchanged } from '../../store/port.ts';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { EXPIRY_MARGIN_MS, type Sweep, type SweepDeps } from '../cleanup/sweep.ts';
import type { FleetMemory } from '../fleet/memory.ts';
import type { AppEntry } from '../fleet/reader.ts';
import { UNAUDITED_CLASSES } from '../fullness/unaudited-classes.ts';
import { put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { withoutExpiredCodes } from './app-state.ts';

const APPS_PER_COMMIT_MAX = 60;
const APPS_PER_PIECE_MAX = 300;
/** Accounts that are read in one turn of the event loop. */
const ACCOUNTS_PER_TURN = 50;

/**
 * A11: turns expired codes of apps into spent ones, once they have expired by the clock of every replica. They are
 * found in memory; each commit expects the apps as memory has them, so that an old memory changes nothing. The commits
 * are not quiet: the apps are in the watch cache.
 */
export const spendExpiredCodes: Sweep = async (deps, _from, signal) => {
  const now = deps.clock.now() - EXPIRY_MARGIN_MS;
  const apps = await appsWithExpired(deps.memory, now, signal);
  let gone = 0;
  for (let start = 0; start < apps.length && !signal.aborted; start += APPS_PER_COMMIT_MAX) {
    gone += await spend(deps, apps.slice(start, start + APPS_PER_COMMIT_MAX), now);
  }
  // The apps of this piece are not found again. A piece that removed nothing ends the pass.
  return { gone, next: apps.length === APPS_PER_PIECE_MAX && gone > 0 ? '' : undefined };
};

async function spend({ store, fence }: SweepDeps, apps: readonly AppEntry[], now: number): Promise<number> {
  const [first, ...others] = apps.map((app) => expectUnchanged(app));
  if (!first) return 0;
  const { outcome } = await store.commit({
    expect: [first, ...others, ...fence],
    write: apps.map((app) => put(KEYS.app(app.accountId, app.id), withoutExpiredCodes(app.record, now))),
    writeClass: UNAUDITED_CLASSES.codesExpired,
  });
  return outcome === 'committed' ? codesOf(apps, now) : 0;
}

async function appsWithExpired(memory: FleetMemory, now: number, signal: AbortSignal): Promise<readonly AppEntry[]> {
  const found: AppEntry[] = [];
  let accounts = 0;
  for (const account of memory.accounts()) {
    for (const app of account.apps()) {
      if (app.hasOpenCodes && app.record.codes.some(({ expiresAt }) => expiresAt <= now)) found.push(app);
      if (found.length === APPS_PER_PIECE_MAX) return found;
    }
    accounts += 1;
    if (accounts % ACCOUNTS_PER_TURN === 0) await nextTurn();
    if (signal.aborted) break;
  }
  return found;
}

const codesOf = (apps: readonly AppEntry[], now: number): number =>
  apps.reduce((sum, { record }) => sum + record.codes.filter(({ expiresAt }) => expiresAt <= now).length, 0);
