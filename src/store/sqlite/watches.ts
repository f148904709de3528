import type { Watch, WatchEnd, WatchListener } from '../port.ts';
import type { History, PastChange } from './history.ts';

/* The watches of one store. The commit itself feeds them, so there is no stream that could break. */

export class Watches {
  readonly #open = new Set<LiveWatch>();

  /** The watch opens after this call, when its caller holds it; `newest` is then called for the revision. */
  start(prefix: string, from: number, listener: WatchListener, history: History, newest: () => number): Watch {
    const watch = new LiveWatch(prefix, from, listener, () => this.#open.delete(watch));
    this.#open.add(watch);
    queueMicrotask(() => watch.begin(history, newest()));
    return watch;
  }

  /** Tells every watch of the changes of complete revisions, up to `revision`. */
  feed(revision: number, changes: readonly PastChange[]): void {
    for (const watch of this.#open) watch.feed(revision, changes);
  }

  endAll(): void {
    for (const watch of this.#open) watch.close();
  }
}

class LiveWatch implements Watch {
  readonly #prefix: string;
  readonly #from: number;
  readonly #listener: WatchListener;
  readonly #ended: () => void;
  #state: 'opening' | 'live' | 'ended' = 'opening';

  constructor(prefix: string, from: number, listener: WatchListener, ended: () => void) {
    this.#prefix = prefix;
    this.#from = from;
    this.#listener = listener;
    this.#ended = ended;
  }

  begin(history: History, newest: number): void {
    if (this.#state !== 'opening') return;
    if (this.#from <= history.floor) return this.#end('compacted');
    this.#state = 'live';
    this.#listener.onOpen();
    this.feed(newest, history.after(this.#from - 1));
  }

  feed(revision: number, changes: Iterable<PastChange>): void {
    if (this.#state !== 'live') return;
    const seen = [];
    for (const change of changes) {
      const { key, value } = change;
      if (change.revision >= this.#from && key.startsWith(this.#prefix)) {
        seen.push({ key, revision: change.revision, value });
      }
    }
    if (seen.length > 0) this.#listener.onBatch({ revision, changes: seen });
  }

  close(): void {
    this.#end('closed');
  }

  #end(reason: WatchEnd): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    this.#ended();
    this.#listener.onEnd(reason);
  }
}
