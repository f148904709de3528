import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { findEtcd, NO_ETCD } from '../test/support/etcd/etcd-binary.ts';
import { EtcdCluster } from '../test/support/etcd/etcd.ts';
import type { Child } from './child.ts';
import { CpuShare } from './cpu-share.ts';
import { load, type NextShot } from './load.ts';
import { median, withRange } from './median.ts';
import { polls, seed, type Seeded } from './seed.ts';
import { create, eachItsOwn, readOne, rotate, startMuster, type Ports } from './shots.ts';

/*
 * `npm run bench:replicas`: what 1, 2 and 4 replicas on one etcd of one member serve, where each has a quarter of a core
 * (`BENCH_CORES`), as a container's limit gives it; the ratio is against one replica in the same run. It needs root, for
 * control groups. Requests are spread over the replicas as a balancer spreads them: every account meets all of them.
 */

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 5);
const ROUND_MS = Number(process.env['BENCH_ROUND_MS'] ?? 2000);
const WARM_UP_MS = Number(process.env['BENCH_WARM_UP_MS'] ?? 8000);
const CORES = Number(process.env['BENCH_CORES'] ?? 0.25);
const REPLICAS = [1, 2, 4];
const CONNECTIONS = 32;
const ACCOUNTS = 2000;

interface Figures {
  readonly perSecond: number;
  readonly p99: number;
}
type Work = readonly [name: string, port: keyof Ports, next: NextShot];

async function round(replicas: readonly Child<Ports>[], [, port, next]: Work, ms: number): Promise<Figures> {
  const connections = CONNECTIONS / replicas.length;
  // Each replica has connections of its own numbers, so that a daemon keeps to one of them.
  const loads = replicas.map(({ ports }, index) =>
    load(ports[port], connections, ms, (connection) => next(index * connections + connection)),
  );
  const results = await Promise.all(loads);
  return {
    perSecond: results.reduce((sum, { perSecond }) => sum + perSecond, 0),
    p99: Math.max(...results.map(({ p99 }) => p99)),
  };
}

async function measured(dataDir: string, url: string, count: number, accounts: readonly Seeded[]) {
  await using stack = new AsyncDisposableStack();
  const replicas: Child<Ports>[] = [];
  for (let index = 0; index < count; index += 1) {
    const folder = mkdtempSync(join(dataDir, 'replica-'));
    replicas.push(await startMuster(folder, `etcd:${url}`));
  }
  const [first] = replicas;
  if (!first) throw new RangeError('at least one replica');
  const polling = await polls(first.ports, accounts.slice(0, CONNECTIONS));
  const works: readonly Work[] = [
    ['poll 304', 'device', eachItsOwn(polling.map(({ bytes }) => ({ bytes, status: 304 })))],
    ['GET /v1/apps/{appId}', 'api', rotate(accounts, readOne)],
    ['POST /v1/apps', 'api', rotate(accounts, create)],
  ];
  // A replica compiles its code, and takes its first units of each account, with all the processor that there is: at a
  // quarter of a core that lasts for longer than a round.
  for (const work of works) await round(replicas, work, WARM_UP_MS);
  replicas.forEach(({ pid }, index) => stack.use(new CpuShare(`${count}-${index}`, pid, CORES)));
  // The processes end first, and then their groups can go.
  replicas.forEach((replica) => stack.use(replica));
  const figures = new Map<string, Figures[]>();
  for (const work of works) {
    await round(replicas, work, ROUND_MS);
    const rounds: Figures[] = [];
    for (let number = 0; number < ROUNDS; number += 1) rounds.push(await round(replicas, work, ROUND_MS));
    figures.set(work[0], rounds);
  }
  return figures;
}

function tell(count: number, name: string, rounds: readonly Figures[], alone: readonly Figures[]): void {
  const rates = rounds.map(({ perSecond }) => perSecond);
  const one = median(alone.map(({ perSecond }) => perSecond));
  const ratios = rates.map((rate) => rate / one);
  const cells = [
    name,
    String(count),
    median(rates).toFixed(0),
    median(rounds.map(({ p99 }) => p99)).toFixed(0),
    withRange(ratios),
  ];
  process.stdout.write(`| ${cells.join(' | ')} |\n`);
}

const binary = findEtcd();
if (binary === undefined) throw new Error(NO_ETCD);
const dataDir = mkdtempSync(join(tmpdir(), 'muster-replicas-'));
try {
  process.stdout.write(
    '| operation | replicas | per s | p99 ms | times one replica (range) |\n| --- | --- | --- | --- | --- |\n',
  );
  let alone: Map<string, Figures[]> | undefined;
  for (const count of REPLICAS) {
    // An etcd of their own: others would wait for the units of replicas that were killed.
    await using cluster = await EtcdCluster.start({ binary });
    const { url } = cluster.member;
    const choice = { kind: 'etcd', endpoints: [url], prefix: '/muster/' } as const;
    const [accounts = []] = await seed(choice, [{ accounts: ACCOUNTS, appsEach: 1 }]);
    const figures = await measured(dataDir, url, count, accounts);
    alone ??= figures;
    for (const [name, rounds] of figures) tell(count, name, rounds, alone.get(name) ?? []);
  }
} finally {
  rmSync(dataDir, { recursive: true, force: true });
}
