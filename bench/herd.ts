import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { findEtcd, NO_ETCD } from '../test/support/etcd/etcd-binary.ts';
import { EtcdCluster } from '../test/support/etcd/etcd.ts';
import { Child } from './child.ts';
import { load, request, type LoadResult, type Shot } from './load.ts';
import { median } from './median.ts';
import { polls, seed, type Seeded } from './seed.ts';
import { startMuster } from './shots.ts';

/*
 * `npm run bench:herd`: measures how a flood on the device listener slows the owners' requests in the same process.
 * Rounds with and without it take turns; the ratio is of the medians. The owners' clients are a few, the flood's are
 * thousands, each of which polls again as soon as it is answered.
 */

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 5);
const ROUND_MS = Number(process.env['BENCH_ROUND_MS'] ?? 3000);
const FLOODS = (process.env['BENCH_FLOODS'] ?? '1000,4000').split(',').map(Number);
const OWNERS = 4;
const ACCOUNTS = 2000;

/** Takes each account in its turn, so that none reaches the limit of its rate window. */
function inTurn(accounts: readonly Seeded[], shot: (account: Seeded) => Shot): () => Shot {
  const shots = accounts.map(shot);
  let turn = 0;
  return () => {
    turn = (turn + 1) % shots.length;
    return shots[turn] ?? { bytes: '', status: 0 };
  };
}

const reading = ({ token, appId }: Seeded): Shot => ({
  bytes: request('GET', `/v1/apps/${appId}`, { Authorization: `Bearer ${token}` }),
  status: 200,
});
const writing = ({ token, appId }: Seeded): Shot => ({
  bytes: request('POST', `/v1/apps/${appId}/enroll-code`, { Authorization: `Bearer ${token}` }),
  status: 201,
});

async function measure(name: string, dataDir: string, store: string, accounts: readonly Seeded[]): Promise<void> {
  await using muster = await startMuster(dataDir, store);
  const { api, device } = muster.ports;
  const file = join(dataDir, 'polls.json');
  const polling = await polls(muster.ports, accounts.slice(0, 200));
  writeFileSync(file, JSON.stringify(polling.map(({ bytes }) => bytes)));
  for (const [what, shot] of [
    ['read', reading],
    ['write', writing],
  ] as const) {
    const next = inTurn(accounts, shot);
    const round = (): Promise<LoadResult> => load(api, OWNERS, ROUND_MS, next);
    await round();
    for (const connections of FLOODS) {
      const [quiet, flooded]: LoadResult[][] = [[], []];
      let answered = 0;
      for (let number = 0; number < ROUNDS; number += 1) {
        quiet?.push(await round());
        await using flood = await Child.start('./flood-child.ts', [String(device), String(connections), file]);
        flooded?.push(await round());
        answered += (await flood.ask<{ answered: [number, number][] }>()).answered.reduce((sum, [, n]) => sum + n, 0);
      }
      tell(`${name} ${what}`, connections, answered / ROUNDS, quiet ?? [], flooded ?? []);
    }
  }
}

function tell(name: string, connections: number, polled: number, quiet: LoadResult[], flooded: LoadResult[]): void {
  const of = (rounds: LoadResult[], read: (result: LoadResult) => number): number => median(rounds.map(read));
  const [p50, p99] = [(r: LoadResult): number => r.p50, (r: LoadResult): number => r.p99];
  const cells = [
    name,
    String(connections),
    polled.toFixed(0),
    of(quiet, p50).toFixed(1),
    of(flooded, p50).toFixed(1),
    of(quiet, p99).toFixed(1),
    of(flooded, p99).toFixed(1),
    (of(flooded, p99) / of(quiet, p99)).toFixed(1),
  ];
  process.stdout.write(`| ${cells.join(' | ')} |\n`);
}

process.stdout.write(
  '| owners | flood | its polls in a round | p50 ms | with flood | p99 ms | with flood | ratio |\n|---|---|---|---|---|---|---|---|\n',
);
const dataDir = mkdtempSync(join(tmpdir(), 'muster-herd-'));
try {
  const path = join(dataDir, 'herd.db');
  const plan = [{ accounts: ACCOUNTS, appsEach: 1 }];
  const [accounts = []] = await seed({ kind: 'sqlite', path }, plan);
  await measure('embedded', dataDir, `sqlite:${path}`, accounts);
  const binary = findEtcd();
  if (binary === undefined) process.stdout.write(`The part on etcd is left out: ${NO_ETCD}\n`);
  else {
    await using cluster = await EtcdCluster.start({ binary });
    const { url } = cluster.member;
    const [onEtcd = []] = await seed({ kind: 'etcd', endpoints: [url], prefix: '/muster/' }, plan);
    await measure('etcd', dataDir, `etcd:${url}`, onEtcd);
  }
} finally {
  rmSync(dataDir, { recursive: true, force: true });
}
