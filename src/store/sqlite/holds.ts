import { checkValue } from '../validate.ts';
import { serialExecutor } from '../../concurrency/serial.ts';
import { expectRevision } from '../entry.ts';
import { ABSENT, type Change, type CommitResult, type Held, type Key, type WatchedChange } from '../port.ts';

/* Keys that live as long as their holder, where one process holds the store: none of them expires while it runs. */

/** A change that puts a key on behalf of a holder. `committed` is called before anybody learns of the commit. */
export interface HolderNote {
  readonly key: string;
  committed(revision: number): void;
}

type Submit = (change: Change, note?: HolderNote) => Promise<CommitResult>;

export class SqliteHolds {
  readonly #live = new Map<string, SqliteHeld>();
  readonly #submit: Submit;

  constructor(submit: Submit) {
    this.#submit = submit;
  }

  /** @param noted the keys that a holder was the last to write, with their revisions, as the file has them */
  async hold(key: Key, value: string, noted: ReadonlyMap<string, number>): Promise<Held | 'taken'> {
    const held = new SqliteHeld(key, this.#submit, () => {
      if (this.#live.get(key) === held) this.#live.delete(key);
    });
    // A key that could not be removed when it was released has no holder any more: it gives way.
    const vacant = this.#live.has(key) ? ABSENT : (noted.get(key) ?? ABSENT);
    const change: Change = { expect: [expectRevision(key, vacant)], write: [{ put: key, value }], quiet: true };
    const { outcome } = await this.#submit(change, {
      key,
      committed: (revision) => {
        this.#live.get(key)?.lose();
        held.revision = revision;
        this.#live.set(key, held);
      },
    });
    return outcome === 'committed' ? held : 'taken';
  }

  /** Ends the holds whose keys were written by somebody else. */
  saw(changes: readonly WatchedChange[]): void {
    if (this.#live.size === 0) return;
    for (const { key, revision } of changes) {
      const held = this.#live.get(key);
      if (held && revision > held.revision) held.lose();
    }
  }

  endAll(): void {
    for (const held of this.#live.values()) held.lose();
  }
}

class SqliteHeld implements Held {
  revision = ABSENT;
  readonly #key: Key;
  readonly #submit: Submit;
  readonly #ended: () => void;
  readonly #losing = new AbortController();
  readonly #serially = serialExecutor();
  #released: Promise<void> | undefined;

  constructor(key: Key, submit: Submit, ended: () => void) {
    this.#key = key;
    this.#submit = submit;
    this.#ended = ended;
  }

  get lost(): AbortSignal {
    return this.#losing.signal;
  }

  async rewrite(value: string): Promise<'written' | 'lost'> {
    checkValue(this.#key, value);
    return this.#serially(async () => {
      if (this.#released || this.lost.aborted) return 'lost';
      const [key, revision] = [this.#key, this.revision];
      const change: Change = { expect: [expectRevision(key, revision)], write: [{ put: key, value }], quiet: true };
      const note = { key, committed: (written: number) => (this.revision = written) };
      const { outcome } = await this.#submit(change, note);
      if (outcome === 'committed') return 'written';
      this.lose();
      return 'lost';
    });
  }

  async release(): Promise<void> {
    this.#released ??= this.#serially(async () => this.#remove());
    return this.#released;
  }

  lose(): void {
    if (this.#released) return;
    this.#ended();
    this.#losing.abort();
  }

  async #remove(): Promise<void> {
    const [key, revision] = [this.#key, this.revision];
    try {
      if (!this.lost.aborted)
        await this.#submit({ expect: [expectRevision(key, revision)], write: [{ remove: key }], quiet: true });
    } catch {
      // The key gives way to the next holder, and is removed when the store is opened again.
    }
    this.#ended();
  }
}
