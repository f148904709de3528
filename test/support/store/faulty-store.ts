import { KEYS, kindOfKey } from '../../../src/domain/records/keys.ts';
import {
  StoreUnavailable,
  type Change,
  type CommitResult,
  type Entry,
  type Head,
  type Store,
  type StoreTrouble,
  type Watch,
  type WatchListener,
} from '../../../src/store/port.ts';

/** The fate of a commit. A lost one is thrown as an outage, whether it happened or not. */
export type CommitFate = 'passes' | 'answer lost after commit' | 'lost before commit' | 'conflict';

export type Operation = 'get' | 'list' | 'listAt' | 'commit' | 'head' | 'headAt' | 'compact' | 'hold';

const OPERATIONS: readonly Operation[] = ['get', 'list', 'listAt', 'commit', 'head', 'headAt', 'compact', 'hold'];

interface Interception {
  readonly operation: Operation;
  readonly when: 'before' | 'after';
  readonly act: () => Promise<unknown>;
}

/** Wraps a store that injects planned faults: `faultyStore(store, ['answer lost after commit'])`. */
export function faultyStore(store: Store, plan: readonly CommitFate[] = []): FaultyStore {
  return new FaultyStore(store, plan);
}

/**
 * Wraps the store of a whole service: plans touch only commits of requests. Those of the leader, which expect its
 * lease, and those of heartbeats come at moments of their own, and would take a fate that is meant for a request.
 */
export function faultyForRequests(store: Store): FaultyStore {
  const faulty = new FaultyStore(store, []);
  faulty.isPlanned = ({ expect }) =>
    !expect.some(({ key }) => key === KEYS.leader()) && !expect.every(({ key }) => kindOfKey(key) === KEYS.lastSeen);
  return faulty;
}

export class FaultyStore implements Store {
  readonly backend: Store['backend'];
  /** The fates of the next commits, in order; those after them pass. */
  readonly fates: CommitFate[];
  /** Operations that throw `StoreUnavailable`, as long as they are named here. */
  readonly down = new Set<Operation>();
  /** Why they throw. */
  trouble: StoreTrouble = 'unreachable';
  readonly calls: Record<Operation, number> = {
    get: 0,
    list: 0,
    listAt: 0,
    commit: 0,
    head: 0,
    headAt: 0,
    compact: 0,
    hold: 0,
  };
  /** Every change that plans touch, in the order in which they were asked for. */
  readonly changes: Change[] = [];
  watchesOpened = 0;
  /** While true no watch delivers anything, without an error; a watch that missed something stays silent afterwards. */
  deaf = false;
  /** The number of batches that watches have missed so. */
  missed = 0;
  /**
   * Names the keys that no plan touches: they are not counted, intercepted, stalled, nor given a fate; `down` is for
   * all keys. By default these are the shared rate windows and the last uses of keys, whose reads and writes come at
   * moments of their own.
   */
  isAside: (key: string) => boolean = (key) => key.startsWith('rate') || key.startsWith('used/');
  /** Tells whether plans touch a commit; any other is not recorded, counted, intercepted, stalled, nor given a fate. */
  isPlanned: (change: Change) => boolean = () => true;
  /** Replaces the answer of `head`. */
  answerHead: (truth: Head) => Head = (truth) => truth;
  /** Replaces the answer of `fullness`. */
  full: number | undefined;
  readonly #store: Store;
  readonly #interceptions: Interception[] = [];
  readonly #stalled = new Map<Operation, PromiseWithResolvers<void>>();
  readonly #watches = new Set<FaultyWatch>();

  constructor(store: Store, plan: readonly CommitFate[]) {
    this.#store = store;
    this.backend = store.backend;
    this.fates = [...plan];
  }

  /** Has every operation throw, or none any more. */
  outage(on: boolean): void {
    for (const operation of OPERATIONS) {
      if (on) this.down.add(operation);
      else this.down.delete(operation);
    }
  }

  /** Has the calls of an operation hang until the returned function is called. */
  stall(operation: Operation): () => void {
    const latch = Promise.withResolvers<void>();
    this.#stalled.set(operation, latch);
    return () => {
      this.#stalled.delete(operation);
      latch.resolve();
    };
  }

  /** Has the next call of the operation do this first, or before it returns its answer. Once. */
  intercept(operation: Operation, when: 'before' | 'after', act: () => Promise<unknown>): void {
    this.#interceptions.push({ operation, when, act });
  }

  /** Ends every open watch, as a lost connection does. */
  sever(): void {
    for (const watch of this.#watches) watch.end('disconnected');
  }

  get watching(): number {
    return this.#watches.size;
  }

  get: Store['get'] = (key) => {
    const get = (): Promise<Entry | undefined> => this.#store.get(key);
    return this.isAside(key) ? this.#unlessDown('get', get) : this.#call('get', get);
  };
  list: Store['list'] = (request) => this.#call('list', () => this.#store.list(request));
  listAt: Store['listAt'] = (request, revision) => this.#call('listAt', () => this.#store.listAt(request, revision));
  head: Store['head'] = () => this.#call('head', async () => this.answerHead(await this.#store.head()));
  headAt: Store['headAt'] = (revision) => this.#call('headAt', () => this.#store.headAt(revision));
  compact: Store['compact'] = (revision) => this.#call('compact', () => this.#store.compact(revision));
  retain: Store['retain'] = (revision) => this.#store.retain(revision);
  hold: Store['hold'] = (key, value, ttlMs) => this.#call('hold', () => this.#store.hold(key, value, ttlMs));

  commit(change: Change): Promise<CommitResult> {
    if (!this.isPlanned(change) || change.expect.every(({ key }) => this.isAside(key))) {
      return this.#unlessDown('commit', () => this.#store.commit(change));
    }
    this.changes.push(change);
    const fate = this.fates.shift() ?? 'passes';
    return this.#call('commit', async () => {
      if (fate === 'lost before commit') throw new StoreUnavailable('timeout', 'commit: lost before it happened');
      if (fate === 'conflict') return { outcome: 'conflict' };
      const result = await this.#store.commit(change);
      if (fate === 'answer lost after commit') throw new StoreUnavailable('timeout', 'commit: the answer was lost');
      return result;
    });
  }

  watch(prefix: string, from: number, listener: WatchListener): Watch {
    this.watchesOpened += 1;
    const watch = new FaultyWatch(
      listener,
      () => this.deaf,
      () => (this.missed += 1),
      () => this.#watches.delete(watch),
    );
    this.#watches.add(watch);
    watch.begin(this.#store, prefix, from);
    return watch;
  }

  fullness(): number {
    return this.full ?? this.#store.fullness();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const latch of this.#stalled.values()) latch.resolve();
    await this.#store[Symbol.asyncDispose]();
  }

  async #call<T>(operation: Operation, call: () => Promise<T>): Promise<T> {
    this.calls[operation] += 1;
    const [before, after] = [this.#intercepted(operation, 'before'), this.#intercepted(operation, 'after')];
    await before?.();
    await this.#stalled.get(operation)?.promise;
    const answer = await this.#unlessDown(operation, call);
    await after?.();
    return answer;
  }

  async #unlessDown<T>(operation: Operation, call: () => Promise<T>): Promise<T> {
    if (this.down.has(operation)) throw new StoreUnavailable(this.trouble, `${operation}: the store is down`);
    return await call();
  }

  #intercepted(operation: Operation, when: Interception['when']): (() => Promise<unknown>) | undefined {
    const index = this.#interceptions.findIndex((next) => next.operation === operation && next.when === when);
    return index < 0 ? undefined : this.#interceptions.splice(index, 1)[0]?.act;
  }
}

class FaultyWatch implements Watch {
  readonly #listener: WatchListener;
  readonly #isDeaf: () => boolean;
  readonly #missed: () => void;
  readonly #over: () => void;
  #watch: Watch | undefined;
  #ended = false;
  #deaf = false;

  constructor(listener: WatchListener, isDeaf: () => boolean, missed: () => void, over: () => void) {
    this.#listener = listener;
    this.#isDeaf = isDeaf;
    this.#missed = missed;
    this.#over = over;
  }

  begin(store: Store, prefix: string, from: number): void {
    this.#watch = store.watch(prefix, from, {
      onOpen: () => {
        if (!this.#ended) this.#listener.onOpen();
      },
      onBatch: (batch) => {
        // A watch that has missed a batch stays silent: the port knows silence and ends, but no gaps.
        this.#deaf ||= this.#isDeaf();
        if (this.#deaf) this.#missed();
        else if (!this.#ended) this.#listener.onBatch(batch);
      },
      onEnd: (reason) => this.end(reason),
    });
  }

  close(): void {
    this.end('closed');
  }

  end(reason: Parameters<WatchListener['onEnd']>[0]): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#over();
    this.#watch?.close();
    this.#listener.onEnd(reason);
  }
}
