import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findEtcd, NO_ETCD } from '../../support/etcd/etcd-binary.ts';
import { EtcdMember } from '../../support/etcd/etcd.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { timedVerdict } from '../../support/run/timed-verdict.ts';
import { freePorts } from '../../support/service/free-ports.ts';
import { call, KEY_FILE_TEXT, tenant } from '../../support/service/muster.ts';
import { MusterProcess } from '../../support/service/muster-process.ts';
import { until } from '../../support/time/until.ts';

/*
 * Members of etcd by name that come back with other addresses, as pods do. The names are in a hosts file of the
 * service's own, which the system's resolver reads for each lookup.
 */

const binary = findEtcd();

const OWN_HOSTS = 'mount --bind "$0" /etc/hosts && exec "$@"';
const UNSHARE: readonly [string, ...string[]] = ['unshare', '--user', '--map-root-user', '--mount', 'sh', '-c'];

function whyNot(): string | undefined {
  if (binary === undefined) return NO_ETCD;
  const [command, ...words] = [...UNSHARE, OWN_HOSTS, '/etc/hosts', 'true'];
  const { status } = spawnSync(command, words, { stdio: 'ignore' });
  return status === 0 ? undefined : 'files cannot be mounted in a user namespace here';
}

const why = whyNot();
/**
 * How soon a member that is back must be found: 10 to 500 ms were measured, and 27 s with gRPC's own 30 s between
 * lookups.
 */
const FOUND_MS_MAX = 8000;
const PAUSE_MS = 100;

let place: string;
beforeEach(() => {
  place = scratchDirectory('etcd-addresses');
  writeFileSync(join(place, 'keys'), KEY_FILE_TEXT, { mode: 0o600 });
});
afterEach(() => rmSync(place, { recursive: true }));

/** A cluster whose members have names, and an address each that changes. */
class NamedCluster implements AsyncDisposable {
  readonly hosts = join(place, 'hosts');
  readonly store: string;
  readonly #addresses: number[];
  readonly #ports: readonly number[];
  readonly #peers: readonly number[];
  readonly #running: EtcdMember[] = [];

  private constructor(ports: readonly number[], peers: readonly number[]) {
    this.#ports = ports;
    this.#peers = peers;
    this.#addresses = ports.map(() => 1);
    this.store = `etcd:${ports.map((port, index) => `http://${this.#nameOf(index)}:${port}`).join()}`;
  }

  static async start(count: 1 | 3): Promise<NamedCluster> {
    const cluster = new NamedCluster(await freePorts(count), await freePorts(count));
    cluster.#tell();
    await Promise.all(cluster.#ports.map((_, index) => cluster.start(index)));
    return cluster;
  }

  async kill(index: number): Promise<void> {
    await this.#running[index]?.kill();
  }

  /** Back with its data, at an address that it never had. */
  async comeBackElsewhere(index: number): Promise<void> {
    this.#addresses[index] = (this.#addresses[index] ?? 1) + 1;
    this.#tell();
    await this.start(index);
  }

  async start(index: number): Promise<void> {
    const port = this.#ports[index] ?? 0;
    const client = `http://${this.#addressOf(index)}:${port}`;
    const peer = `http://127.0.0.1:${this.#peers[index]}`;
    const flags = [
      `--name=m${index}`,
      `--data-dir=${join(place, `m${index}`)}`,
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=${this.#peers.map((peerPort, each) => `m${each}=http://127.0.0.1:${peerPort}`).join()}`,
      '--logger=zap',
      '--log-level=info',
      '--log-outputs=stderr',
      '--unsafe-no-fsync',
    ];
    const member = new EtcdMember(binary ?? '', flags, client, port);
    this.#running[index] = member;
    await member.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#running.map((member) => member.kill()));
  }

  /** In place: the mount in the other namespace is of this very file. */
  #tell(): void {
    writeFileSync(
      this.hosts,
      this.#ports.map((_, index) => `${this.#addressOf(index)} ${this.#nameOf(index)}\n`).join(''),
    );
  }

  #nameOf(index: number): string {
    return `etcd-${index}.etcd.fleet.example`;
  }

  #addressOf(index: number): string {
    return `127.0.${index + 1}.${this.#addresses[index]}`;
  }
}

const serviceOn = (cluster: NamedCluster): Promise<MusterProcess> =>
  MusterProcess.start(
    { MUSTER_STORE: cluster.store, MUSTER_KEY_FILE: join(place, 'keys'), MUSTER_DATA_DIR: place },
    undefined,
    [...UNSHARE, OWN_HOSTS, cluster.hosts],
  );

describe.skipIf(why !== undefined)(`etcd under new addresses${why === undefined ? '' : ` [skipped: ${why}]`}`, () => {
  test('a single member that comes back under another one is found again within seconds', async () => {
    await using cluster = await NamedCluster.start(1);
    await using muster = await serviceOn(cluster);
    const { apiKey } = await tenant(muster);
    const status = async (): Promise<number> => (await call(`${muster.api}/v1/apps`, { token: apiKey })).status;
    expect(await status()).toBe(200);
    await timedVerdict(async () => {
      await cluster.kill(0);
      await until(async () => (await status()) === 502);
      await cluster.comeBackElsewhere(0);
      const startedAt = performance.now();
      await until(async () => (await status()) === 200);
      expect(performance.now() - startedAt).toBeLessThan(FOUND_MS_MAX);
    });
  });

  test('of three members that come back one after another none is missed', async () => {
    await using cluster = await NamedCluster.start(3);
    await using muster = await serviceOn(cluster);
    const { apiKey } = await tenant(muster);
    const statuses: number[] = [];
    const asking = new AbortController();
    const asked = (async () => {
      while (!asking.signal.aborted) {
        statuses.push((await call(`${muster.api}/v1/apps`, { token: apiKey })).status);
        // As often as an account may ask for a minute.
        await sleep(PAUSE_MS);
      }
    })();
    for (const index of [0, 1, 2]) {
      await cluster.kill(index);
      await cluster.comeBackElsewhere(index);
      const before = statuses.length;
      await until(() => statuses.length > before + 20);
    }
    asking.abort();
    await asked;
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
  });
});
