import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ETCD_QUOTA_BYTES } from '../fleet/service.ts';
import { openStore, type StoreChoice } from '../src/service/open-store.ts';
import { findEtcd, NO_ETCD } from '../test/support/etcd/etcd-binary.ts';
import { EtcdCluster } from '../test/support/etcd/etcd.ts';
import { seedFleet } from './fleet-seed.ts';
import type { Figures, Held } from './memory-replica.ts';

/*
 * `npm run bench:memory [-- sqlite|etcd]`: measures what a replica needs for a fleet (`BENCH_APPS`, a million unless it
 * is set): seconds until its memory is filled from an idle store, bytes per app, the longest full collection, and what
 * a million polls add. A process of its own measures, so that nothing of the seeding is counted.
 */

const APPS = Number(process.env['BENCH_APPS'] ?? 1_000_000);
/** The number of starts that are measured, each in a new process. */
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 1);
const SEED_DEADLINE_MS = 60_000;
const [only = ''] = process.argv.slice(2);

async function measured(choice: StoreChoice): Promise<Figures> {
  const child = fork(new URL('memory-replica.ts', import.meta.url), [JSON.stringify(choice)], {
    execArgv: ['--expose-gc', '--max-old-space-size=8192'],
    stdio: 'inherit',
  });
  const exited = once(child, 'exit').then(() => Promise.reject(new Error('the replica ended early')));
  exited.catch(() => undefined);
  const [figures] = (await Promise.race([once(child, 'message'), exited])) as [Figures];
  child.kill('SIGKILL');
  return figures;
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;
const perApp = (bytes: number, apps: number): string => `${(bytes / apps).toFixed(0)} B`;

const collection = ({ fullMs, fullCpuMs }: Held): string =>
  `${fullMs.toFixed(0)} ms (processor ${fullCpuMs.toFixed(0)} ms)`;

function tell(store: string, figures: Figures): void {
  const { apps, start, filled, polled, written } = figures;
  const rows: [string, string][] = [
    ['start, until memory is filled', seconds(start.wallMs)],
    ['· of it this process computed', seconds(start.cpuMs)],
    ['· of it pages were waited for', seconds(start.waitedMs)],
    ['· of it records were taken up', seconds(start.appliedMs)],
    ['heap per app', perApp(filled.heap, apps)],
    ['outside the heap, per app', perApp(filled.external, apps)],
    ['together, per app', perApp(filled.heap + filled.external, apps)],
    ['longest full collection', collection(filled)],
    ['polls, each', `${figures.pollMicros.toFixed(2)} µs`],
    ['added by a poll of each app, heap', perApp(polled.heap - filled.heap, apps)],
    ['added by it, together', perApp(polled.heap + polled.external - filled.heap - filled.external, apps)],
    ['longest full collection then', collection(polled)],
    [
      'added once last contacts are written, together',
      perApp(written.heap + written.external - filled.heap - filled.external, apps),
    ],
    ['longest full collection then', collection(written)],
    ['all of it, per app', perApp(written.heap + written.external, apps)],
    ['resident set of the process', `${(figures.rss / 1_048_576).toFixed(0)} MiB`],
  ];
  process.stdout.write(`\n${store}, ${apps} apps\n\n| measured | |\n| --- | --- |\n`);
  for (const [name, value] of rows) process.stdout.write(`| ${name} | ${value} |\n`);
}

async function bench(name: string, choice: StoreChoice): Promise<void> {
  {
    await using store = await openStore(choice.kind === 'etcd' ? { ...choice, deadlineMs: SEED_DEADLINE_MS } : choice);
    const startedAt = performance.now();
    await seedFleet(store, APPS, (apps) => process.stderr.write(`${name}: ${apps} apps are in the store\n`));
    process.stderr.write(`${name}: seeded in ${seconds(performance.now() - startedAt)}\n`);
  }
  for (let round = 0; round < ROUNDS; round += 1) tell(name, await measured(choice));
}

const directory = mkdtempSync(join(tmpdir(), 'muster-memory-'));
try {
  if (only !== 'etcd') await bench('sqlite', { kind: 'sqlite', path: join(directory, 'fleet.db') });
  const binary = only === 'sqlite' ? undefined : findEtcd();
  if (binary !== undefined) {
    const flags = [`--quota-backend-bytes=${ETCD_QUOTA_BYTES}`];
    await using cluster = await EtcdCluster.start({ binary, unsafeNoFsync: true, flags });
    const place = { endpoints: [cluster.member.url], prefix: '/muster/', quotaBytes: ETCD_QUOTA_BYTES };
    await bench('etcd', { kind: 'etcd', ...place });
  } else if (only !== 'sqlite') process.stdout.write(`The part on etcd is left out: ${NO_ETCD}\n`);
} finally {
  rmSync(directory, { recursive: true, force: true });
}
