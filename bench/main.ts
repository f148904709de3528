import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findEtcd, NO_ETCD } from '../test/support/etcd/etcd-binary.ts';
import { EtcdCluster } from '../test/support/etcd/etcd.ts';
import { Child } from './child.ts';
import { load, request, type LoadResult, type NextShot, type Shot } from './load.ts';
import { median, withRange } from './median.ts';
import { ready } from './million-fleet.ts';
import { NEAR_LIMIT_MS, NearLimit } from './near-limit.ts';
import { acknowledgements, heartbeats, polls, seed, type Polling, type Seeded } from './seed.ts';
import { create, eachItsOwn, hello, list, readOne, rotate, startMuster, type Baseline, type Ports } from './shots.ts';

/*
 * `npm run bench [-- filter]`: every figure is a ratio against a baseline measured in the same run, the median of
 * interleaved rounds, with processor time per operation beside it. Nothing here passes or fails a test.
 */

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 5);
const ROUND_MS = Number(process.env['BENCH_ROUND_MS'] ?? 1500);
const WARM_UP_MS = Number(process.env['BENCH_WARM_UP_MS'] ?? 5000);
const CONNECTIONS = 64;
/** Twice as many that list 1,000 apps each without a pause are owed more than `owedToKnownBytesMax` for a moment. */
const LISTERS = 32;
const ACCOUNTS = 5000;
/** Their rates together are above what can be listed in the rounds. */
const LARGE_ACCOUNTS = 200;
/** With 1 what the members of a cluster cost is out of the way of a service that shares their cores. */
const ETCD_MEMBERS = process.env['BENCH_ETCD_MEMBERS'] === '1' ? 1 : 3;

interface Contender {
  readonly name: string;
  readonly child: Child<unknown>;
  readonly port: number;
  readonly connections?: number;
  readonly warmUpMs?: number;
  readonly next: NextShot;
}
interface Measured extends LoadResult {
  readonly microsPerOperation: number;
}

const [filter = ''] = process.argv.slice(2);

async function measure(contender: Contender, ms = ROUND_MS): Promise<Measured> {
  const { child, port, connections = CONNECTIONS, next } = contender;
  const before = await child.cpuMicros();
  const result = await load(port, connections, ms, next);
  return { ...result, microsPerOperation: ((await child.cpuMicros()) - before) / result.requests };
}

/** The rate that is wanted, as a share of the baseline's, and above what share of its processor time it is too much. */
type Wanted = number | { readonly rate?: number; readonly cpuAtMost: number };
/** Express routes both. ADR 0005 has the rate; the processor time was 1.8 to 2.1 times that of the baseline. */
const READS_WANTED = { rate: 0.45, cpuAtMost: 2.2 };

/** Contender and baseline take turns; the ratio is taken within each round. */
async function compare(contender: Contender, baseline: Contender, wanted?: Wanted): Promise<void> {
  if (!contender.name.includes(filter)) return;
  const rounds: [Measured, Measured][] = [];
  // Code that is not compiled yet costs twice as much: after the warm-up both have served tens of thousands of
  // requests.
  await measure(baseline, WARM_UP_MS);
  await measure(contender, contender.warmUpMs ?? WARM_UP_MS);
  for (let round = 0; round < ROUNDS; round += 1) rounds.push([await measure(contender), await measure(baseline)]);
  const rates = rounds.map(([mine, other]) => mine.perSecond / other.perSecond);
  const costs = rounds.map(([mine, other]) => mine.microsPerOperation / other.microsPerOperation);
  const of = (read: (measured: Measured) => number, side: 0 | 1): string =>
    read1(median(rounds.map((r) => read(r[side]))));
  const row = [
    contender.name,
    of((m) => m.perSecond, 0),
    of((m) => m.microsPerOperation, 0),
    of((m) => m.p99, 0),
    baseline.name,
    of((m) => m.perSecond, 1),
    of((m) => m.microsPerOperation, 1),
    withRange(rates),
    withRange(costs),
    verdict(wanted, median(rates), median(costs)),
  ];
  process.stdout.write(`| ${row.join(' | ')} |\n`);
}

function verdict(wanted: Wanted | undefined, rate: number, cost: number): string {
  if (wanted === undefined) return '';
  const { rate: least, cpuAtMost: most } = typeof wanted === 'number' ? { rate: wanted, cpuAtMost: undefined } : wanted;
  const judged = [
    ...(least === undefined ? [] : [`≥ ${least}${rate >= least ? '' : ' MISSED'}`]),
    ...(most === undefined ? [] : [`CPU ≤ ${most}${cost <= most ? '' : ' MISSED'}`]),
  ];
  return judged.join(', ');
}

const read1 = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toFixed(1));

async function embedded(dataDir: string, baseline: Child<Baseline>): Promise<void> {
  const path = join(dataDir, 'bench.db');
  const [accounts = [], large = []] = await seed({ kind: 'sqlite', path }, [
    { accounts: ACCOUNTS, appsEach: 1 },
    { accounts: LARGE_ACCOUNTS, appsEach: 1000 },
  ]);
  await using muster = await startMuster(dataDir, `sqlite:${path}`);
  const { api } = muster.ports;
  const own = { child: muster, port: api };
  const { express } = hellos(baseline);
  await compare(
    { ...own, name: 'embedded GET /v1/apps/{appId}', next: rotate(accounts, readOne) },
    express,
    READS_WANTED,
  );
  const polling = await polls(muster.ports, accounts.slice(0, CONNECTIONS));
  await embeddedPolls(dataDir, muster, baseline, polling);
  await embeddedOpamp(muster, polling);
  const creates = { ...own, name: 'embedded POST /v1/apps', next: rotate(accounts, create) };
  await compare(creates, express, { rate: 0.5, cpuAtMost: 4 });
  const lists = { ...own, name: 'embedded GET /v1/apps of 1000', connections: LISTERS, next: rotate(large, list) };
  await compare(lists, { ...express, connections: LISTERS }, 0.5);
}

/** Measures creates by the same service over a store that keeps nothing of them. Both have the same fleet. */
async function createsByStore(): Promise<void> {
  const name = 'embedded create, by its store';
  if (!name.includes(filter)) return;
  await using stack = new AsyncDisposableStack();
  const started = async (contender: string, env: NodeJS.ProcessEnv): Promise<Contender> => {
    const dataDir = mkdtempSync(join(tmpdir(), 'muster-bench-'));
    stack.defer(() => rmSync(dataDir, { recursive: true, force: true }));
    const path = join(dataDir, 'creates.db');
    const [accounts = []] = await seed({ kind: 'sqlite', path }, [{ accounts: ACCOUNTS, appsEach: 1 }]);
    const child = stack.use(await startMuster(dataDir, `sqlite:${path}`, env));
    // Memory is filled from the store, and a listing that ends later would not have what is not kept.
    await ready(child);
    return { name: contender, child, port: child.ports.api, next: rotate(accounts, create) };
  };
  const own = await started(name, {});
  await compare(own, await started('the same, keeping nothing', { BENCH_KEEPS_NOTHING: 'true' }), 0.8);
}

/** Measures polls with one daemon on each connection, as daemons connect. */
async function embeddedPolls(
  dataDir: string,
  muster: Child<Ports>,
  baseline: Child<Baseline>,
  polling: readonly Polling[],
): Promise<void> {
  const shots = polling.map(({ bytes }) => ({ bytes, status: 304 }));
  const poll = { child: muster, port: muster.ports.device, next: eachItsOwn(shots) };
  const { express, raw } = hellos(baseline);
  await compare({ ...poll, name: 'embedded poll 304' }, express, { rate: 2, cpuAtMost: 0.45 });
  await compare({ ...poll, name: 'embedded poll 304, by a raw hello' }, raw, 0.8);
  const known = join(dataDir, 'polls.json');
  writeFileSync(known, JSON.stringify(polling.map(({ credential, etag }) => [credential, etag])));
  await using checking = await Child.start<{ raw: number }>('./raw-polls.ts', [known]);
  const same = { name: 'raw node:http, same checks', child: checking, port: checking.ports.raw, next: poll.next };
  await compare({ ...poll, name: 'embedded poll 304, by raw' }, same, 0.9);
  await compare({ ...same, name: 'embedded poll: raw with its checks' }, express, 2);
}

/** Measures what an agent of OpAMP asks most of the time, by what daemons of the device plane ask on the same apps. */
async function embeddedOpamp(muster: Child<Ports>, polling: readonly Polling[]): Promise<void> {
  const own = { child: muster, port: muster.ports.device };
  const heartbeat = eachItsOwn((await heartbeats(muster.ports, polling)).map((bytes) => ({ bytes, status: 200 })));
  const ack = eachItsOwn((await acknowledgements(muster.ports, polling)).map((bytes) => ({ bytes, status: 204 })));
  const poll = eachItsOwn(polling.map(({ bytes }) => ({ bytes, status: 304 })));
  const opamp = { ...own, name: 'embedded OpAMP poll without news', next: heartbeat };
  await compare(opamp, { ...own, name: 'an acknowledgement without news', next: ack }, { cpuAtMost: 2 });
  await compare(opamp, { ...own, name: 'a poll 304', next: poll });
}

async function onEtcd(dataDir: string, url: string, baseline: Child<Baseline>): Promise<void> {
  const choice = { kind: 'etcd', endpoints: [url], prefix: '/muster/' } as const;
  const [accounts = []] = await seed(choice, [{ accounts: ACCOUNTS, appsEach: 1 }]);
  await using muster = await startMuster(dataDir, `etcd:${url}`);
  const own = { child: muster, port: muster.ports.api };
  const { express } = hellos(baseline);
  const transaction: Contender = {
    ...express,
    name: 'one npm-etcd3 transaction',
    next: () => ({ bytes: request('POST', '/create', {}), status: 201 }),
  };
  await compare({ ...own, name: 'etcd GET /v1/apps/{appId}', next: rotate(accounts, readOne) }, express, 0.9);
  const wide = { connections: 256, next: rotate(accounts, readOne) };
  await compare({ ...own, ...wide, name: 'etcd GET at 256' }, { ...express, connections: 256 }, 1);
  const shots = (await polls(muster.ports, accounts.slice(0, CONNECTIONS))).map(({ bytes }) => ({
    bytes,
    status: 304,
  }));
  const poll = { child: muster, port: muster.ports.device, next: eachItsOwn(shots) };
  await compare({ ...poll, name: 'etcd poll 304' }, express, 1.5);
  await etcdNearLimit(muster, accounts, express);
  await compare({ ...own, name: 'etcd POST /v1/apps', next: rotate(accounts, create) }, transaction, 2.5);
}

/**
 * Measures accounts that use 90 % of their rate, 80 % at the end: while the baseline has its rounds they rest. A poll
 * has no part in the window of an account.
 */
async function etcdNearLimit(muster: Child<Ports>, accounts: readonly Seeded[], express: Contender): Promise<void> {
  const { next } = new NearLimit(accounts.map(readOne));
  const own = { child: muster, port: muster.ports.api, warmUpMs: NEAR_LIMIT_MS, next };
  await compare({ ...own, name: 'etcd GET near the limit' }, express, 0.9);
}

function hellos(baseline: Child<Baseline>): Record<'express' | 'raw', Contender> {
  const next = (): Shot => hello;
  return {
    express: { name: 'bare Express', child: baseline, port: baseline.ports.express, next },
    raw: { name: 'raw node:http', child: baseline, port: baseline.ports.raw, next },
  };
}

process.stdout.write(
  '| measured | per s | µs CPU | p99 ms | against | per s | µs CPU | rate ratio (range) | CPU ratio (range) | wanted |\n' +
    '|---|---|---|---|---|---|---|---|---|---|\n',
);
const dataDir = mkdtempSync(join(tmpdir(), 'muster-bench-'));
try {
  const binary = findEtcd();
  await using cluster = binary === undefined ? undefined : await EtcdCluster.start({ binary, members: ETCD_MEMBERS });
  await using baseline = await Child.start<Baseline>('./baseline.ts', cluster ? [cluster.member.url] : []);
  if (!filter.startsWith('etcd')) {
    await embedded(dataDir, baseline);
    await createsByStore();
  }
  if (cluster && !filter.startsWith('embedded')) await onEtcd(dataDir, cluster.member.url, baseline);
  if (!cluster) process.stdout.write(`The part on etcd is left out: ${NO_ETCD}\n`);
} finally {
  rmSync(dataDir, { recursive: true, force: true });
}
