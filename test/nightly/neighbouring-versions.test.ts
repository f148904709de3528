import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { LIMITS } from '../../src/domain/limits.ts';
import { readWatermark } from '../../src/domain/metering/watermark.ts';
import { KEYS } from '../../src/domain/records/keys.ts';
import { dayAfter } from '../../src/domain/status-history/day-record.ts';
import { openStore } from '../../src/service/open-store.ts';
import type { Store } from '../../src/store/port.ts';
import { dayAt, endOfDay } from '../../src/time/utc-days.ts';
import { CORRECTNESS } from '../chaos/checkers/all.ts';
import type { Outcome } from '../chaos/checkers/checker.ts';
import { earlyRefusal } from '../chaos/checkers/early-refusal.ts';
import { Follower } from '../chaos/cluster/follower.ts';
import { seedNearlyFull } from '../chaos/cluster/seed.ts';
import { Recorder } from '../chaos/judgement/history.ts';
import { readState } from '../chaos/judgement/state.ts';
import { seeded, seedFrom } from '../chaos/random.ts';
import { findEtcd, NO_ETCD } from '../support/etcd/etcd-binary.ts';
import { EtcdCluster } from '../support/etcd/etcd.ts';
import { auditedNights } from '../support/metering/audited-ledger.ts';
import { countsOf, digestOf } from '../support/metering/metering.ts';
import { KEY_FILE_TEXT } from '../support/service/muster.ts';
import { LedgerWatch } from '../system/neighbours/ledger-watch.ts';
import { underMixedLoad } from '../system/neighbours/load.ts';
import { bothServe, eventually, loggedBy, Pair, type Build } from '../system/neighbours/pair.ts';
import { isAncestor, laidBuild, previousLanding } from '../system/neighbours/previous-build.ts';
import { seedMissedNights } from '../system/neighbours/seeded-nights.ts';
import { ledgerFaults, limitFaults, troubledHistory, vacuities } from '../system/neighbours/verdicts.ts';

/*
 * A replica of the last landing's build beside one of this commit, on one etcd, under mixed load: docs/TESTING.md.
 * Leadership moves between the builds, replicas are upgraded and downgraded, and midnight passes.
 */

const SECONDS = Number(process.env['MUSTER_TEST_NEIGHBOUR_SECONDS'] || 300);
const SEED = seedFrom(process.env);
const PREFIX = '/neighbours/';
/** The share of the time that is over at midnight, by the clocks of the replicas. */
const MIDNIGHT_AT = 0.55;
/** A night takes a round of the loop, 5 s: those that were missed take until the second half. */
const MISSED_NIGHTS = Math.max(4, Math.floor((SECONDS * 0.65) / 5));
const SHIFTED_CLOCK = join(import.meta.dirname, '../system/neighbours/shifted-clock.ts');
const START_MS = 10_000;
/** At most so many faults of one kind are reported. */
const REPORTED_MAX = 12;

const etcd = findEtcd();
const { commit, missing } = previousLanding();
const reason = missing ?? (etcd === undefined ? NO_ETCD : undefined);
if (missing !== undefined && process.env['CI']) throw new Error(`CI needs the last landing: ${missing}`);

const title = `the build of ${commit.slice(0, 12)} beside this one, by the seed ${SEED}`;

describe.skipIf(reason !== undefined)(reason === undefined ? title : `${title} (${reason})`, () => {
  test('the commit is one that this one builds on', () => {
    expect(isAncestor(commit), `${commit} is no ancestor of HEAD: name the last landing in previous-landing`).toBe(
      true,
    );
  });

  test(`${SECONDS} s of mixed load on one etcd`, { timeout: SECONDS * 1000 + 600_000 }, async () => {
    const folders = { previous: laidBuild(commit), current: join(import.meta.dirname, '../..') };
    await using opened = new AsyncDisposableStack();
    const directory = mkdtempSync(join(tmpdir(), 'muster-neighbours-'));
    opened.defer(() => rmSync(directory, { recursive: true, force: true }));
    writeFileSync(join(directory, 'keys'), KEY_FILE_TEXT, { mode: 0o600 });
    const cluster = opened.use(await EtcdCluster.start({ binary: etcd ?? '', unsafeNoFsync: true }));
    const store = opened.use(await openStore({ kind: 'etcd', endpoints: cluster.urls, prefix: PREFIX }));
    const random = seeded(SEED);
    const recorder = opened.use(new Recorder());
    const owner = await seedNearlyFull(store, recorder);
    const seededApps = (await readState(store)).accounts.get(owner.account)?.counters ?? 0;
    const clock = clockBefore(Date.now());
    const through = await seedMissedNights(store, random, clock.today, MISSED_NIGHTS);
    const follower = opened.use(await Follower.start([store]));
    const ledger = opened.use(await LedgerWatch.start(store));

    const pair = opened.use(
      new Pair({
        folders,
        recorder,
        env: {
          NODE_OPTIONS: `--import=${pathToFileURL(SHIFTED_CLOCK).href}`,
          TEST_CLOCK_SHIFT_MS: String(clock.shiftMs),
          MUSTER_DATA_DIR: directory,
          MUSTER_KEY_FILE: join(directory, 'keys'),
          MUSTER_STORE: `etcd:${cluster.urls.join()}`,
          MUSTER_ETCD_PREFIX: PREFIX,
          // Every revision is read.
          MUSTER_ETCD_COMPACT: 'never',
          MUSTER_METERING_DELAY_SECONDS: '5',
          MUSTER_PRICE_PER_DAEMON_MONTH: '1.50',
          MUSTER_DEVICE_RATE_PER_MINUTE: '100000',
        },
      }),
    );
    await pair.start(0, 'previous');
    await eventually(() => pair.leads(0));
    await pair.start(1, 'current');
    const codes: unknown[] = [];
    const course = async (): Promise<void> => {
      codes.push(...(await upgradesAndDowngrades(pair, recorder)));
      await eventually(async () => (await readWatermark(store)).through === clock.today);
    };
    await underMixedLoad({ pair, recorder, owner, random }, () => Promise.race([course(), pair.crashed]));
    const state = await readState(store);
    const { revision } = await store.head();
    await Promise.all([follower.reach(revision), ledger.reach(revision)]);
    codes.push(...(await pair.end()));

    const outcome: Outcome = { state, written: follower.written };
    const expected = await nightsOf(store, { through, today: clock.today, unaudited: owner.account });
    const verdict = {
      missed: follower.missed === 0 ? [] : [`${follower.missed} revisions were compacted before they were seen`],
      codes: codes.filter((code) => code !== 0),
      errors: pair.ran.flatMap(({ process: { logged } }) => logged.filter(isFault)),
      rules: CORRECTNESS.flatMap((check) => check(recorder, outcome)),
      early: earlyRefusal(troubledHistory(recorder), outcome),
      limit: limitFaults(recorder, owner.account, seededApps),
      ledger: ledgerFaults({ recorded: await countsOf(store), expected, writes: ledger.writes }),
      vacuous: [...vacuities(recorder), ...unmetered(pair)],
    };
    process.stdout.write(`${told(pair, recorder)}\n`);
    const wrong = Object.entries<readonly unknown[]>(verdict).filter(([, faults]) => faults.length > 0);
    if (wrong.length > 0) process.stdout.write(`the history is kept in ${recorder.save()}\n`);
    expect(Object.fromEntries(wrong.map(([what, faults]) => [what, faults.slice(0, REPORTED_MAX)]))).toEqual({});
  });
});

/** Nobody cuts these two off from etcd: where it does not answer them, the machine is busy elsewhere. */
const isFault = (line: string): boolean => line.includes('"level":"error"') && !line.includes('"reason":"timeout"');

/** A pair of replicas whose clocks reach a midnight while they are under load. */
function clockBefore(now: number): { today: string; shiftMs: number } {
  const untilMs = START_MS + SECONDS * MIDNIGHT_AT * 1000;
  const today = dayAt(now + untilMs);
  return { today, shiftMs: endOfDay(today) - now - untilMs };
}

/**
 * Each step at its share of the time. Whoever leads is the previous build, then this one, then the previous one, and so
 * on.
 */
async function upgradesAndDowngrades(pair: Pair, recorder: Recorder): Promise<unknown[]> {
  const codes: unknown[] = [];
  const from = recorder.now();
  const at = async (share: number): Promise<void> => {
    await sleep(Math.max(0, from + share * SECONDS * 1000 - recorder.now()));
    const since = recorder.now();
    await eventually(() => bothServe(recorder, since));
  };
  // The first is upgraded while it leads: the other one, of this commit, follows. And back.
  await at(0.15);
  codes.push(await pair.swap(0, 'current'));
  await at(0.25);
  codes.push(await pair.swap(0, 'previous'));
  // All is of the last landing for a while, which leads.
  await at(0.37);
  codes.push(await pair.swap(1, 'previous'));
  await at(0.47);
  codes.push(await pair.swap(1, 'current'));
  // After midnight the leader stands still, once of either build, and finds another one leading when it goes on.
  await at(0.65);
  await pair.freeze(0);
  await at(0.8);
  await pair.freeze(1);
  await at(1);
  return codes;
}

/**
 * The nights after `through` that the ledger must have, by the audit; one account was written without it, and empty.
 */
async function nightsOf(
  store: Store,
  { through, today, unaudited }: { through: string; today: string; unaudited: string },
): Promise<Record<string, string>> {
  const nights = await auditedNights(store, today);
  const expected = Object.fromEntries(
    Object.entries(nights).filter(([night]) => (night.split(' ')[1] ?? '') > through),
  );
  const { createdAt } = JSON.parse((await store.get(KEYS.account(unaudited)))?.value ?? '{}') as { createdAt: number };
  for (let day = dayAt(createdAt); day <= today; day = dayAfter(day)) {
    if (day > through) expected[`${unaudited} ${day}`] = `0 ${digestOf([])}`;
  }
  return expected;
}

const BUILDS: readonly Build[] = ['previous', 'current'];
const nightsBy = (pair: Pair, build: Build): number => loggedBy(pair, build, '"a night is metered"').length;
const unmetered = (pair: Pair): string[] =>
  BUILDS.filter((build) => nightsBy(pair, build) === 0).map((build) => `the ${build} build metered no night`);

function told(pair: Pair, { calls }: Recorder): string {
  const limited = calls.filter(({ status }) => status === 429).length;
  const nights = BUILDS.map((build) => `${nightsBy(pair, build)} by the ${build} build`).join(', ');
  const full = calls.filter(({ code }) => code === 'limit_reached').length;
  return (
    `neighbouring versions, seed ${SEED}: ${calls.length} requests, ${limited} refused by the rate limit, ` +
    `${full} by the limit of ${LIMITS.appsPerAccountMax} apps; nights: ${nights}`
  );
}
