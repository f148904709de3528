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

/** The answers of commits alone show that the store takes writes. */
const WRITTEN: ReadonlySet<StoreResult> = new Set(['committed']);
const ANSWERED: ReadonlySet<StoreResult> = new Set(['ok', 'committed', 'conflict', 'taken', 'compacted', 'future']);

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
    else if (this.#trouble !== undefined && (this.#trouble === 'replaced' ? ANSWERED : WRITTEN).has(result)) {
      this.#ended(this.#trouble);
    }
  }

  #began(operation: StoreOperation, trouble: Trouble): void {
    if (this.#trouble === trouble || this.#trouble === 'corrupt') return;
    if (this.trouble !== undefined && SERVES.has(trouble)) return;
    this.#trouble = trouble;
    this.#log.error({ operation, trouble }, SENTENCES[trouble]);
  }

  #ended(trouble: Trouble): void {
    if (trouble === 'corrupt') return;
    this.#trouble = undefined;
    this.#log.info({ trouble }, 'the store is as it was before the trouble');
  }
}

const isTrouble = (result: StoreResult): result is Trouble => Object.hasOwn(SENTENCES, result);
