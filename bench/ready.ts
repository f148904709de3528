import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Devices } from '../fleet/devices.ts';
import { pollAll, Polls } from '../fleet/polling.ts';
import { ETCD_QUOTA_BYTES, QUOTA_ENV } from '../fleet/service.ts';
import type { StoreChoice } from '../src/service/open-store.ts';
import { findEtcd, NO_ETCD } from '../test/support/etcd/etcd-binary.ts';
import { EtcdCluster } from '../test/support/etcd/etcd.ts';
import type { Child } from './child.ts';
import { median } from './median.ts';
import { ready, seedDevices, urlsOf } from './million-fleet.ts';
import { startMuster, type Ports } from './shots.ts';

/*
 * `npm run bench:ready`: how long a replica takes from its start until it is ready, with a million enrolled apps in the
 * store, and on etcd what the daemons of a replica that is ready see meanwhile.
 */

const APPS = Number(process.env['BENCH_APPS'] ?? 1_000_000);
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 5);
/** Few polls a second: what is measured is the wait, and not what two cores can do. */
const INTERVAL_S = 2000;
const WARM_UP_S = 5;
const CONNECTIONS = 64;

const withRange = (values: readonly number[], digits: number): string =>
  [median(values), Math.min(...values), Math.max(...values)].map((value) => value.toFixed(digits)).join(' | ');

/** The command and the image keep what Node compiles of them, so that a start need not wait for that. */
const COMPILED = mkdtempSync(join(tmpdir(), 'muster-compiled-'));

async function compile(dataDir: string): Promise<void> {
  const muster = await startMuster(dataDir, `sqlite:${join(dataDir, 'empty.db')}`, { NODE_COMPILE_CACHE: COMPILED });
  await ready(muster);
  await muster.leave();
}

async function started(dataDir: string, store: string): Promise<{ muster: Child<Ports>; seconds: number }> {
  const startedAt = performance.now();
  const muster = await startMuster(dataDir, store, { ...QUOTA_ENV, NODE_COMPILE_CACHE: COMPILED });
  await ready(muster);
  return { muster, seconds: (performance.now() - startedAt) / 1000 };
}

/** Polls of a ready replica until the work is done. @returns the p99 in milliseconds */
async function polledDuring(muster: Child<Ports>, devices: Devices, work: () => Promise<void>): Promise<number> {
  const over = new AbortController();
  const polls = new Polls();
  const polling = pollAll({
    urls: urlsOf(muster),
    devices,
    connections: CONNECTIONS,
    seconds: undefined,
    signal: over.signal,
    polls,
  });
  await work();
  over.abort();
  await polling;
  return polls.latencies.at(0.99);
}

/** Starts a replica again and again. */
async function starts(name: string, dataDir: string, store: string): Promise<void> {
  const seconds: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const { muster, seconds: taken } = await started(dataDir, store);
    await muster[Symbol.asyncDispose]();
    seconds.push(taken);
  }
  process.stdout.write(`| ${name}, seconds until ready | ${withRange(seconds, 1)} |\n`);
}

async function onSqlite(dataDir: string): Promise<void> {
  const path = join(dataDir, 'ready.db');
  await seedDevices({ kind: 'sqlite', path }, APPS, INTERVAL_S);
  await starts('embedded', dataDir, `sqlite:${path}`);
}

async function onEtcd(dataDir: string, binary: string): Promise<void> {
  await using cluster = await EtcdCluster.start({ binary, flags: [`--quota-backend-bytes=${ETCD_QUOTA_BYTES}`] });
  const { url } = cluster.member;
  const choice: StoreChoice = { kind: 'etcd', endpoints: [url], prefix: '/muster/' };
  const devices = await seedDevices(choice, APPS, INTERVAL_S);
  await starts('etcd', dataDir, `etcd:${url}`);
  const { muster: serving } = await started(dataDir, `etcd:${url}`);
  await using stack = new AsyncDisposableStack();
  stack.use(serving);
  await polledDuring(serving, devices, () => sleep(WARM_UP_S * 1000));
  const [alone, beside]: [number[], number[]] = [[], []];
  const further = mkdtempSync(join(dataDir, 'further-'));
  for (let round = 0; round < ROUNDS; round += 1) {
    alone.push(await polledDuring(serving, devices, () => sleep(WARM_UP_S * 1000)));
    const work = async (): Promise<void> => {
      const { muster } = await started(further, `etcd:${url}`);
      await muster[Symbol.asyncDispose]();
    };
    beside.push(await polledDuring(serving, devices, work));
  }
  process.stdout.write(`| p99 ms of polls of a ready replica | ${withRange(alone, 1)} |\n`);
  process.stdout.write(`| the same while another replica starts | ${withRange(beside, 1)} |\n`);
}

const dataDir = mkdtempSync(join(tmpdir(), 'muster-ready-'));
try {
  await compile(dataDir);
  process.stdout.write(`| ${APPS} apps | median | lowest | highest |\n| --- | --- | --- | --- |\n`);
  await onSqlite(dataDir);
  const binary = findEtcd();
  if (binary === undefined) process.stdout.write(`The part on etcd is left out: ${NO_ETCD}\n`);
  else await onEtcd(dataDir, binary);
} finally {
  for (const folder of [dataDir, COMPILED]) rmSync(folder, { recursive: true, force: true });
}
