import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import type { Devices } from '../fleet/devices.ts';
import { etcdSyncs, figuresOf } from '../fleet/figures.ts';
import { pollAll, Polls } from '../fleet/polling.ts';
import { ETCD_QUOTA_BYTES, QUOTA_ENV } from '../fleet/service.ts';
import { findEtcd, NO_ETCD } from '../test/support/etcd/etcd-binary.ts';
import { EtcdCluster } from '../test/support/etcd/etcd.ts';
import { Child } from './child.ts';
import { ready, seedDevices, urlsOf } from './million-fleet.ts';
import type { Paused } from './pauses.ts';
import { startMuster, type Ports } from './shots.ts';

/*
 * `npm run bench:million`: what a million daemons that poll every 180 s see of one replica on one core, with an etcd of
 * one member on another, which the daemons share. Beside them two processes do nothing, one on each core: a round in
 * which the machine itself kept one of them from running for longer than `LAG_MS` tells nothing about the service, and
 * does not count.
 */

const DEVICES = Number(process.env['BENCH_DEVICES'] ?? 1_000_000);
const INTERVAL_S = Number(process.env['BENCH_INTERVAL_S'] ?? 180);
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 10);
const ROUND_S = Number(process.env['BENCH_ROUND_S'] ?? 30);
const WARM_UP_S = Number(process.env['BENCH_WARM_UP_S'] ?? 200);
const LAG_MS = 20;
const CONNECTIONS = 256;

/** Keeps all threads of the process on one core. */
function pin(pid: number | undefined, core: number): void {
  const { status, stderr } = spawnSync('taskset', ['-acp', String(core), String(pid)], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`taskset: ${stderr}`);
}

interface Beside {
  readonly muster: Child<Ports>;
  readonly idle: readonly Child<object>[];
  readonly etcdUrl: string;
}

/** The upper bound, in milliseconds, of the longest sync between two looks; 0 where there was none. */
function longestSyncMs(before: ReadonlyMap<number, number>, after: ReadonlyMap<number, number>): number {
  const countUpTo = (bound: number): number => (after.get(bound) ?? 0) - (before.get(bound) ?? 0);
  const all = countUpTo(Infinity);
  return all === 0 ? 0 : 1000 * ([...after.keys()].find((bound) => countUpTo(bound) === all) ?? Infinity);
}

async function polled({ muster, etcdUrl }: Beside, devices: Devices, seconds: number) {
  const urls = urlsOf(muster);
  const polls = new Polls();
  const before = await figuresOf({ urls, etcdUrls: [etcdUrl] });
  await pollAll({ urls, devices, connections: CONNECTIONS, seconds, signal: new AbortController().signal, polls });
  const after = await figuresOf({ urls, etcdUrls: [etcdUrl] });
  const all = [...after.etcdRequests.values()].reduce((sum, count) => sum + count, 0);
  const reads = after.sharedReads - before.sharedReads;
  const requests = all - [...before.etcdRequests.values()].reduce((sum, count) => sum + count, 0);
  return { polls, reads: reads / polls.seconds, others: ((requests - reads) * 3600) / (DEVICES * polls.seconds) };
}

async function round(beside: Beside, devices: Devices): Promise<boolean> {
  const { muster, idle } = beside;
  await Promise.all([muster, ...idle].map((child) => child.ask<Paused>('pauses')));
  const cpuBefore = await muster.cpuMicros();
  const syncedBefore = await etcdSyncs(beside.etcdUrl);
  const { polls, reads, others } = await polled(beside, devices, ROUND_S);
  const share = ((await muster.cpuMicros()) - cpuBefore) / 1e6 / polls.seconds;
  const [own, ...bare] = await Promise.all([muster, ...idle].map((child) => child.ask<Paused>('pauses')));
  const lag = Math.max(...bare.map(({ loopMax }) => loopMax));
  const refused = [...polls.answers].filter(([status]) => status !== '200' && status !== '304');
  const collections = Object.entries(own?.collections ?? {}).map(
    ([kind, { count, max }]) => `${count} ${kind} ≤ ${max.toFixed(0)}`,
  );
  const { latencies } = polls;
  const cells = [
    polls.perSecond.toFixed(0),
    refused.map(([status, count]) => `${count} × ${status}`).join(', ') || 'none',
    ...[0.5, 0.99, 1].map((part) => latencies.at(part).toFixed(1)),
    share.toFixed(2),
    (own?.loopMax ?? 0).toFixed(0),
    collections.join(', '),
    reads.toFixed(1),
    others.toPrecision(2),
    `≤ ${longestSyncMs(syncedBefore, await etcdSyncs(beside.etcdUrl)).toFixed(0)}`,
    lag.toFixed(0),
    lag < LAG_MS ? '' : 'no',
  ];
  process.stdout.write(`| ${cells.join(' | ')} |\n`);
  return lag < LAG_MS;
}

const binary = findEtcd();
if (binary === undefined) throw new Error(NO_ETCD);
const dataDir = mkdtempSync(join(tmpdir(), 'muster-million-'));
try {
  await using cluster = await EtcdCluster.start({ binary, flags: [`--quota-backend-bytes=${ETCD_QUOTA_BYTES}`] });
  const { member } = cluster;
  const choice = { kind: 'etcd', endpoints: [member.url], prefix: '/muster/' } as const;
  const devices = await seedDevices(choice, DEVICES, INTERVAL_S);
  const startedAt = performance.now();
  await using muster = await startMuster(dataDir, `etcd:${member.url}`, {
    ...QUOTA_ENV,
    MUSTER_POLL_INTERVAL_SECONDS: String(INTERVAL_S),
  });
  await ready(muster);
  process.stdout.write(`Ready after ${((performance.now() - startedAt) / 1000).toFixed(1)} s.\n\n`);
  await using first = await Child.start<object>('./bare-loop.ts', []);
  await using second = await Child.start<object>('./bare-loop.ts', []);
  [muster.pid, first.pid].forEach((pid) => pin(pid, 0));
  [member.pid, process.pid, second.pid].forEach((pid) => pin(pid, 1));
  const beside: Beside = { muster, idle: [first, second], etcdUrl: member.url };
  await polled(beside, devices, WARM_UP_S);
  const head =
    'polls/s,refused,p50 ms,p99 ms,longest ms,core,loop ms,collections (ms),reads/s,others a device-hour,sync ms,lag,counts';
  process.stdout.write(`| ${head.split(',').join(' | ')} |\n|${' --- |'.repeat(head.split(',').length)}\n`);
  let counted = 0;
  for (let number = 0; number < ROUNDS; number += 1) counted += Number(await round(beside, devices));
  process.stdout.write(`\n${counted} of ${ROUNDS} rounds count.\n`);
} finally {
  rmSync(dataDir, { recursive: true, force: true });
}
