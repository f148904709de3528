import type { IEvent, IWatchCreateRequest, IWatchResponse, WatchClient } from 'etcd3';
import type { Key, Watch, WatchEnd, WatchListener, WatchedChange } from '../../port.ts';
import { revisionFrom, type KeySpace } from './key-space.ts';

type Stream = Awaited<ReturnType<WatchClient['watch']>>;

interface WatchOrder {
  readonly keys: KeySpace;
  readonly prefix: string;
  readonly from: number;
  readonly listener: WatchListener;
  readonly deadlineMs: number;
  /** Opens a stream to an endpoint that stands. */
  connect(): Promise<Stream>;
  /** Called once, before the listener's `onEnd`. */
  over(outcome: WatchOutcome): void;
}

export interface WatchOutcome {
  readonly reason: WatchEnd;
  /** The watch was not confirmed in time: nothing at all came back over the connection. */
  readonly silent: boolean;
  /** The message of etcd or gRPC; empty where there is none. */
  readonly words: string;
}

/**
 * One watch on one stream of its own. The package's watcher is no use here: it opens streams again by itself, hands out
 * the fragments of a revision as if they were whole, and does not tell a compaction from a broken connection.
 */
export class EtcdWatch implements Watch {
  readonly #order: WatchOrder;
  readonly #confirmation: NodeJS.Timeout;
  #stream: Stream | undefined;
  #ended = false;
  /** The changes of the fragments that have come so far. */
  #pending: WatchedChange[] = [];

  constructor(order: WatchOrder) {
    this.#order = order;
    this.#confirmation = setTimeout(() => this.#end('disconnected', '', true), order.deadlineMs);
    void this.#open();
  }

  close(): void {
    this.#end('closed');
  }

  async #open(): Promise<void> {
    try {
      const stream = await this.#order.connect();
      this.#stream = stream
        .on('error', (error) => this.#end('disconnected', error.message))
        .on('end', () => this.#end('disconnected'))
        .on('data', (response) => this.#received(response));
      if (this.#ended) stream.cancel();
      else stream.write({ create_request: this.#request() });
    } catch {
      this.#end('disconnected');
    }
  }

  #request(): IWatchCreateRequest {
    const { keys, prefix, from } = this.#order;
    return { ...keys.range(prefix), start_revision: from, fragment: true };
  }

  #received(response: IWatchResponse): void {
    if (this.#ended) return;
    if (response.canceled) {
      const reason = response.compact_revision === '0' ? 'disconnected' : 'compacted';
      this.#end(reason, response.cancel_reason);
    } else if (response.created) {
      this.#confirmed();
    } else {
      this.#collect(response);
    }
  }

  #confirmed(): void {
    clearTimeout(this.#confirmation);
    this.#order.listener.onOpen();
  }

  #collect({ events, fragment }: IWatchResponse): void {
    try {
      for (const event of events) this.#pending.push(this.#changeOf(event));
    } catch {
      return this.#end('disconnected');
    }
    // Only the last fragment makes the revisions whole. An answer without events is a notification of progress.
    if (fragment) return;
    const revision = this.#pending.at(-1)?.revision;
    if (revision === undefined) return;
    const changes = this.#pending;
    this.#pending = [];
    // The header's revision is not used: while a watch catches up, it is ahead of the changes that were sent.
    this.#order.listener.onBatch({ revision, changes });
  }

  #changeOf({ type, kv }: IEvent): WatchedChange {
    const value = type === 'Delete' ? undefined : kv.value.toString();
    return { key: this.#order.keys.key(kv.key) as Key, revision: revisionFrom(kv.mod_revision), value };
  }

  #end(reason: WatchEnd, words = '', silent = false): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#confirmation);
    this.#stream?.cancel();
    this.#order.over({ reason, silent, words });
    this.#order.listener.onEnd(reason);
  }
}
