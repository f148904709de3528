import type { Log } from '../log.ts';
import type { StoreCallMetrics, StoreOperation, StoreResult } from './metrics.ts';

/** The trouble of a store that no time mends: a person must act. Each has a sentence for the log and for `/readyz`. */
const SENTENCES = {
  replaced:
    'the store is empty, gone or another one than before: nothing is written to it, and it must be restored ' +
    '(docs/OPERATIONS.md, "A lost store")',
  readonly: 'the store is read-only: nothing can be revoked or changed until its disk takes writes again',
  corrupt: 'the store is corrupt: restore a backup (docs/OPERATIONS.md, "A damaged store")',
  divided:
    'the members of etcd do not agree (alarm CORRUPT): nothing can be revoked or changed, and no replica starts; ' +
    'replace the wrong member (runbook: MusterStoreDown)',
} as const satisfies Partial<Record<StoreResult, string>>;
type Trouble = keyof typeof SENTENCES;

/** With these the replica stays ready: reads are answered, and without it daemons are served by nobody. */
const SERVES: ReadonlySet<Trouble> = new Set(['divided']);

type Judgement = (operation: StoreOperation, result: StoreResult) => boolean;

const ANSWERED: ReadonlySet<StoreResult> = new Set(['ok', 'committed', 'conflict', 'taken', 'compacted', 'future']);
const HOLDS: ReadonlySet<StoreOperation> = new Set(['hold', 'rewrite']);

/** The store took a write. A replica that nobody asks rewrites its place on the registry alone. */
const isWritten: Judgement = (operation, result) => result === 'committed' || (result === 'ok' && HOLDS.has(operation));

/** The answers that show that a trouble is over. */
const ENDED_BY: Record<Trouble, Judgement> = {
  replaced: (_, result) => ANSWERED.has(result),
  readonly: isWritten,
  // Only a start checks the file.
  corrupt: () => false,
  // With the alarm on, etcd refuses also a commit that would be a conflict, and every compaction.
  divided: (operation, result) =>
    isWritten(operation, result) || result === 'conflict' || (operation === 'compact' && result === 'ok'),
};

/**
 * Knows from the store's own answers what is wrong with it, and logs it once when it begins and once when it ends.
 * A store that was found to be corrupt stays so until the process is started again, which checks it.
 */
export class StoreHealth {
  readonly #log: Log;
  #trouble: Trouble | undefined;

  constructor(log: Log) {
    this.#log = log;
  }

  /** The trouble that a person must mend and that ends service, in words; undefined where none is known. */
  get trouble(): string | undefined {
    return this.#trouble && !SERVES.has(this.#trouble) ? SENTENCES[this.#trouble] : undefined;
  }

  /** The trouble that a person must mend and with which daemons are served, in words; undefined where none is known. */
  get degraded(): string | undefined {
    return this.#trouble && SERVES.has(this.#trouble) ? SENTENCES[this.#trouble] : undefined;
  }

  /** The same metrics; each call that is told to them is judged as well. */
  observing(metrics: StoreCallMetrics): StoreCallMetrics {
    return {
      storeCallEnded: (operation, result, seconds) => {
        metrics.storeCallEnded(operation, result, seconds);
        this.#judge(operation, result);
      },
    };
  }

  #judge(operation: StoreOperation, result: StoreResult): void {
    if (isTrouble(result)) this.#began(operation, result);
    else if (this.#trouble !== undefined && ENDED_BY[this.#trouble](operation, result)) this.#ended(this.#trouble);
  }

  #began(operation: StoreOperation, trouble: Trouble): void {
    if (this.#trouble === trouble || this.#trouble === 'corrupt') return;
    if (this.trouble !== undefined && SERVES.has(trouble)) return;
    this.#trouble = trouble;
    this.#log.error({ operation, trouble }, SENTENCES[trouble]);
  }

  #ended(trouble: Trouble): void {
    this.#trouble = undefined;
    this.#log.info({ trouble }, 'the store is as it was before the trouble');
  }
}

const isTrouble = (result: StoreResult): result is Trouble => Object.hasOwn(SENTENCES, result);
