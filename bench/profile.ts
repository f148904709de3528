import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { format, resolveConfig } from 'prettier';
import { findEtcd, NO_ETCD } from '../test/support/etcd/etcd-binary.ts';
import { EtcdCluster } from '../test/support/etcd/etcd.ts';
import type { Profiled } from './answering.ts';
import { Child, type Cost } from './child.ts';
import { LAYERS, layerTimes, type Layer } from './layers.ts';
import { load, type NextShot } from './load.ts';
import { median } from './median.ts';
import { polls, seed } from './seed.ts';
import { create, eachItsOwn, hello, readOne, rotate, startMuster, type Baseline } from './shots.ts';

/*
 * `npm run bench:profile [-- --write]`: the processor time of a create, a read and a poll on both stores, and of the
 * baselines, by layer. Rounds with and without the profiler take turns: those without tell the time, those with it how
 * it is shared, so that the column of an operation adds up to what it costs without a profiler. `--write` renews the
 * table of ADR 0049.
 */

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 5);
const ROUND_MS = Number(process.env['BENCH_ROUND_MS'] ?? 1500);
const WARM_UP_MS = Number(process.env['BENCH_WARM_UP_MS'] ?? 5000);
const CONNECTIONS = 64;
const ACCOUNTS = 5000;
const ADR = join(import.meta.dirname, '../docs/adr/0049-where-the-time-goes.md');

interface Operation {
  readonly name: string;
  readonly child: Child<unknown>;
  readonly port: number;
  readonly next: NextShot;
}
/** Microseconds an operation. */
interface Column {
  readonly name: string;
  readonly layers: ReadonlyMap<Layer, number>;
  readonly main: number;
  /** Threads beside the main one: the disk, the collector's, the compiler's. */
  readonly others: number;
  readonly rounds: readonly number[];
  /** Busy, and not on a processor: the disk's sync, and turns of other processes. */
  readonly waiting: number;
}
interface Round {
  readonly main: number;
  readonly all: number;
}

async function column({ name, child, port, next }: Operation): Promise<Column> {
  await load(port, CONNECTIONS, WARM_UP_MS, next);
  const rounds: Round[] = [];
  const shares: { readonly layers: ReadonlyMap<Layer, number>; readonly waiting: number }[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = await child.ask<Cost>();
    const { requests } = await load(port, CONNECTIONS, ROUND_MS, next);
    const after = await child.ask<Cost>();
    const all = after.cpu.user + after.cpu.system - before.cpu.user - before.cpu.system;
    rounds.push({ main: (after.mainMicros - before.mainMicros) / requests, all: all / requests });
    shares.push(await profiled(child, port, next));
  }
  const main = median(rounds.map((round) => round.main));
  const all = median(rounds.map((round) => round.all));
  const layers = LAYERS.map((layer) => [layer, median(shares.map((share) => share.layers.get(layer) ?? 0))] as const);
  const sum = layers.reduce((total, [, share]) => total + share, 0);
  return {
    name,
    layers: new Map(layers.map(([layer, share]) => [layer, (share / sum) * main])),
    main,
    others: all - main,
    rounds: rounds.map((round) => round.all),
    waiting: median(shares.map(({ waiting }) => waiting)),
  };
}

/** How the main thread's processor time of one round is shared by the layers; the shares add up to 1. */
async function profiled(child: Child<unknown>, port: number, next: NextShot) {
  await child.ask('profile');
  const { requests } = await load(port, CONNECTIONS, ROUND_MS, next);
  const { profile, mainMicros } = await child.ask<Profiled>('profiled');
  const { micros, waitable } = layerTimes(profile);
  const busy = [...micros.values()].reduce((sum, spent) => sum + spent, 0);
  const waiting = Math.max(0, busy - mainMicros);
  // A commit of SQLite waits for the disk on the main thread: what it waited is no time of the processor.
  const onDisk = Math.min(waiting, waitable);
  const left = busy - onDisk;
  const shareOf = (layer: Layer): number => {
    const spent = micros.get(layer) ?? 0;
    return (layer === 'store and its memory' ? spent - onDisk : spent) / left;
  };
  return { layers: new Map(LAYERS.map((layer) => [layer, shareOf(layer)])), waiting: waiting / requests };
}

async function columns(dataDir: string): Promise<Column[]> {
  const found: Column[] = [];
  const add = async (operation: Operation): Promise<void> => {
    process.stderr.write(`${operation.name} …\n`);
    found.push(await column(operation));
  };
  await using baseline = await Child.start<Baseline>('./baseline.ts', []);
  const { express, raw } = baseline.ports;
  await add({ name: 'raw node:http', child: baseline, port: raw, next: () => hello });
  await add({ name: 'bare Express', child: baseline, port: express, next: () => hello });
  const path = join(dataDir, 'profile.db');
  const plan = [{ accounts: ACCOUNTS, appsEach: 1 }];
  const onStore = async (where: string, store: string, choice: Parameters<typeof seed>[0]): Promise<void> => {
    const [accounts = []] = await seed(choice, plan);
    await using muster = await startMuster(dataDir, store);
    const { api, device } = muster.ports;
    const shots = (await polls(muster.ports, accounts.slice(0, CONNECTIONS))).map(({ bytes }) => ({
      bytes,
      status: 304,
    }));
    await add({ name: `GET, ${where}`, child: muster, port: api, next: rotate(accounts, readOne) });
    await add({ name: `poll 304, ${where}`, child: muster, port: device, next: eachItsOwn(shots) });
    await add({ name: `create, ${where}`, child: muster, port: api, next: rotate(accounts, create) });
  };
  await onStore('embedded', `sqlite:${path}`, { kind: 'sqlite', path });
  const binary = findEtcd();
  if (binary === undefined) process.stderr.write(`The part on etcd is left out: ${NO_ETCD}\n`);
  else {
    await using cluster = await EtcdCluster.start({ binary, members: 3 });
    const { url } = cluster.member;
    await onStore('etcd', `etcd:${url}`, { kind: 'etcd', endpoints: [url], prefix: '/muster/' });
  }
  return found;
}

const number = (value: number): string => value.toFixed(value < 10 ? 1 : 0);

function table(found: readonly Column[]): string {
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const whole = ({ main, others }: Column): number => main + others;
  const [, bare] = found;
  return [
    row(['µs of the processor', ...found.map(({ name }) => name)]),
    row(['---', ...found.map(() => '---:')]),
    ...LAYERS.map((layer) => row([layer, ...found.map(({ layers }) => number(layers.get(layer) ?? 0))])),
    row(['other threads', ...found.map(({ others }) => number(others))]),
    row(['**the whole**', ...found.map((one) => `**${number(whole(one))}**`)]),
    row([
      'lowest to highest round',
      ...found.map(({ rounds }) => `${number(Math.min(...rounds))}–${number(Math.max(...rounds))}`),
    ]),
    row(['times bare Express', ...found.map((one) => (bare ? whole(one) / whole(bare) : 0).toFixed(2))]),
    row(['beside it: waiting for the disk or for a processor', ...found.map(({ waiting }) => number(waiting))]),
  ].join('\n');
}

async function renew(text: string): Promise<void> {
  const between = /(<!-- table -->\n)[^]*(<!-- end of table -->)/;
  const [model = { model: 'unknown' }] = cpus();
  const from = `${cpus().length} cores, ${model.model.trim()}, Node ${process.version}, ${ROUNDS} rounds of ${ROUND_MS} ms`;
  const old = readFileSync(ADR, 'utf8');
  const renewed = old.replace(between, `$1\n${text}\n\n${from}.\n\n$2`);
  writeFileSync(ADR, await format(renewed, { ...(await resolveConfig(ADR)), filepath: ADR }));
}

const dataDir = mkdtempSync(join(tmpdir(), 'muster-profile-'));
try {
  const text = table(await columns(dataDir));
  process.stdout.write(`${text}\n`);
  if (process.argv.includes('--write')) await renew(text);
} finally {
  rmSync(dataDir, { recursive: true, force: true });
}
