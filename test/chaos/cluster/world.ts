import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '../../../src/service/open-store.ts';
import type { Store } from '../../../src/store/port.ts';
import { EtcdCluster } from '../../support/etcd/etcd.ts';
import type { Addresses } from '../../support/service/muster-process.ts';
import { KEY_FILE_TEXT } from '../../support/service/muster.ts';
import type { Outcome } from '../checkers/checker.ts';
import { Recorder } from '../judgement/history.ts';
import { readState, type State } from '../judgement/state.ts';
import type { Owner } from './calls.ts';
import { Follower } from './follower.ts';
import { PREFIX, Replica } from './replica.ts';
import { seedNearlyFull } from './seed.ts';

/** Enough for a long run, and soon filled. */
const QUOTA_BYTES = 256 * 1024 * 1024;

interface WorldOptions {
  readonly etcd: string;
  /** Quick: no fsync, since only processes are killed here, never a machine. */
  readonly quick: boolean;
  readonly bug?: string;
}

/** Three members, three replicas, and what the suite sees of them. */
export class World implements AsyncDisposable {
  readonly cluster: EtcdCluster;
  readonly replicas: readonly Replica[];
  readonly recorder: Recorder;
  /** A connection past the wires, for the suite's own reads. */
  readonly store: Store;
  readonly nearlyFull: Owner;
  readonly #follower: Follower;
  readonly #opened: AsyncDisposableStack;

  private constructor(
    parts: Pick<World, 'cluster' | 'replicas' | 'recorder' | 'store' | 'nearlyFull'>,
    follower: Follower,
    opened: AsyncDisposableStack,
  ) {
    ({ cluster: this.cluster, replicas: this.replicas, recorder: this.recorder } = parts);
    ({ store: this.store, nearlyFull: this.nearlyFull } = parts);
    this.#follower = follower;
    this.#opened = opened;
  }

  static async start({ etcd, quick, bug }: WorldOptions): Promise<World> {
    await using opened = new AsyncDisposableStack();
    const directory = mkdtempSync(join(tmpdir(), 'muster-chaos-'));
    opened.defer(() => rmSync(directory, { recursive: true, force: true }));
    const keyFile = join(directory, 'keys');
    writeFileSync(keyFile, KEY_FILE_TEXT, { mode: 0o600 });
    const flags = [`--quota-backend-bytes=${QUOTA_BYTES}`];
    const cluster = opened.use(await EtcdCluster.start({ binary: etcd, members: 3, unsafeNoFsync: quick, flags }));
    const opening = async (endpoints: readonly string[]): Promise<Store> =>
      opened.use(await openStore({ kind: 'etcd', endpoints: [...endpoints], prefix: PREFIX }));
    const store = await opening(cluster.urls);
    const recorder = opened.use(new Recorder());
    const nearlyFull = await seedNearlyFull(store, recorder);
    const [first = store, ...others] = await Promise.all(cluster.urls.map((url) => opening([url])));
    const follower = opened.use(await Follower.start([first, ...others]));
    const env = {
      MUSTER_DATA_DIR: directory,
      MUSTER_KEY_FILE: keyFile,
      MUSTER_ETCD_PREFIX: PREFIX,
      MUSTER_ETCD_QUOTA_BYTES: String(QUOTA_BYTES),
      MUSTER_RATE_WINDOW: 'shared',
      MUSTER_DEVICE_RATE_PER_MINUTE: '100000',
      MUSTER_DRAIN_DELAY_SECONDS: '3',
    };
    const options = { cluster, recorder, env, ...(bug !== undefined && { bug }) };
    const replicas: Replica[] = [];
    // One after the other, since the processes share a machine.
    for (const number of [0, 1, 2]) replicas.push(opened.use(await Replica.start(number, options)));
    return new World({ cluster, replicas, recorder, store, nearlyFull }, follower, opened.move());
  }

  addresses(replica: number): Addresses | undefined {
    return this.replicas[replica]?.addresses;
  }

  readState(): Promise<State> {
    return readState(this.store);
  }

  /** The content of the store now, and every revision on the way to it. */
  async outcome(): Promise<Outcome> {
    const state = await this.readState();
    await this.followed();
    return { state, written: this.#follower.written };
  }

  /** Resolves when the suite has read all that was written before the call: only then is it compacted. */
  async followed(): Promise<void> {
    await this.#follower.reach((await this.store.head()).revision);
  }

  /** The number of revisions that the suite could not read one by one. */
  get missedRevisions(): number {
    return this.#follower.missed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened.disposeAsync();
  }
}
