import type { Topic, Watched } from '../../src/api/contract/panel/live.ts';
import { addressOf } from './client.ts';

/*
 * Live changes: one stream of events a browser. The tab that holds the lock has the stream, and tells the others what
 * it hears; each tab says what it follows. Where a browser lacks the lock, each tab has a stream of its own.
 */

export type { Topic, Watched };

/** What a tab follows of one account. */
interface Interest {
  readonly account: string;
  readonly watch: readonly Watched[];
}

interface LiveEvent {
  /** `''` for what belongs to no account; undefined: anything may have changed. */
  readonly account: string | undefined;
  readonly topic: Topic | undefined;
}

type Listener = (event: LiveEvent) => void;
type Message =
  | { readonly kind: 'heard'; readonly event: LiveEvent }
  | { readonly kind: 'follows'; readonly tab: string; readonly interest: Interest | undefined }
  | { readonly kind: 'asks' }
  | { readonly kind: 'ended' };

const LOCK = 'muster-live';
const ACCOUNTS_MAX = 10;
const LOADING_MS = 1000;

/** The live changes of this tab. */
export class Live {
  readonly #listeners = new Set<Listener>();
  readonly #channel = new BroadcastChannel(LOCK);
  readonly #tab = crypto.randomUUID();
  readonly #others = new Map<string, Interest>();
  #interest: Interest | undefined;
  #source: EventSource | undefined;
  #address = '';
  #leads = false;
  #closed = false;
  #onEnded: () => void = () => undefined;

  /** @param onEnded is called when the session has ended, or a right was lost */
  start(onEnded: () => void): void {
    this.#onEnded = onEnded;
    this.#channel.addEventListener('message', ({ data }: MessageEvent<Message>) => this.#take(data));
    if (!('locks' in navigator)) return this.#lead();
    void navigator.locks.request(LOCK, () => {
      this.#lead();
      // The lock is held until the tab is gone.
      return new Promise<void>(() => undefined);
    });
  }

  /** Says what this tab shows from now on. */
  follow(interest: Interest | undefined): void {
    this.#interest = interest;
    if (this.#leads) this.#open();
    else this.#channel.postMessage({ kind: 'follows', tab: this.#tab, interest } satisfies Message);
  }

  /** @returns a function that ends it */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#closed = true;
    this.#source?.close();
    this.#channel.postMessage({ kind: 'follows', tab: this.#tab, interest: undefined } satisfies Message);
    this.#channel.close();
  }

  #lead(): void {
    if (this.#closed) return;
    this.#leads = true;
    this.#channel.postMessage({ kind: 'asks' } satisfies Message);
    this.#open();
  }

  #take(message: Message): void {
    switch (message.kind) {
      case 'heard':
        return this.#tell(message.event);
      case 'ended':
        return this.#onEnded();
      case 'asks':
        return this.#channel.postMessage({
          kind: 'follows',
          tab: this.#tab,
          interest: this.#interest,
        } satisfies Message);
      case 'follows':
        if (message.interest) this.#others.set(message.tab, message.interest);
        else this.#others.delete(message.tab);
        if (this.#leads) this.#open();
    }
  }

  /** Opens the stream anew where the tabs follow something else than before. */
  #open(): void {
    const interests = [this.#interest, ...this.#others.values()].filter((one) => one !== undefined);
    const accounts = [...new Set(interests.map(({ account }) => account))]
      .filter((id) => id !== '')
      .slice(0, ACCOUNTS_MAX);
    const watched = [...new Set(interests.flatMap(({ watch }) => watch))].sort();
    const address = addressOf('GET /events', {
      query: {
        account: accounts.length === 0 ? undefined : accounts.sort().join(','),
        watch: watched.length === 0 ? undefined : watched.join(','),
      },
    });
    if (this.#closed || (this.#source && address === this.#address)) return;
    this.#source?.close();
    // The page of the first stream has just been read: it is not asked for it all again at once.
    const pauseMs = this.#address === '' ? LOADING_MS : 0;
    this.#address = address;
    const source = new EventSource(address);
    this.#source = source;
    // What changed between the page's read and the first line of the stream is in no hint.
    const ready = (): void => {
      if (source === this.#source) this.#hear({ account: undefined, topic: undefined });
    };
    source.addEventListener('ready', () => setTimeout(ready, pauseMs), { once: true });
    source.addEventListener('hint', ({ data }: MessageEvent<string>) => this.#hear(JSON.parse(data) as LiveEvent));
    source.addEventListener('reset', () => this.#hear({ account: undefined, topic: undefined }));
    source.addEventListener('ended', () => this.#end());
    source.addEventListener('error', () => {
      // A browser gives a stream up that is refused, such as by a replica with too many: it is tried again later.
      if (source.readyState === EventSource.CLOSED && source === this.#source) this.#again();
      // It may have been cut off: reading the user tells whether the service is away.
      else if (source === this.#source) this.#hear({ account: '', topic: 'me' });
    });
  }

  #again(): void {
    this.#source = undefined;
    setTimeout(
      () => {
        if (!this.#source) this.#open();
        this.#hear({ account: undefined, topic: undefined });
      },
      5000 + Math.random() * 5000,
    );
  }

  #end(): void {
    this.#source?.close();
    this.#source = undefined;
    this.#channel.postMessage({ kind: 'ended' } satisfies Message);
    this.#onEnded();
  }

  #hear(event: LiveEvent): void {
    this.#channel.postMessage({ kind: 'heard', event } satisfies Message);
    this.#tell(event);
  }

  #tell(event: LiveEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}
