import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/*
 * What happened, as the clients saw it. Instants are milliseconds of the monotonic clock since the run began. No secret
 * is in it: credentials and codes are named by their SHA-256, as they are in the store.
 */

export type Kind =
  | 'app.create'
  | 'app.list'
  | 'app.read'
  | 'app.revoke'
  | 'app.delete'
  | 'code.issue'
  | 'otel.read'
  | 'otel.write'
  | 'otel.purge'
  | 'enroll'
  | 'poll'
  | 'account.create'
  | 'account.disable'
  | 'account.enable'
  | 'key.create'
  | 'key.revoke';

/** What a request names, or an answer tells. */
export interface Facts {
  readonly account?: string;
  /** The key that asks. */
  readonly key?: string;
  /** The key that is revoked, or was made. */
  readonly target?: string;
  readonly app?: string;
  /** By their hashes. */
  readonly credential?: string;
  readonly code?: string;
  /** An app's status, or a collector's address. */
  readonly value?: string;
  /** How many apps a list has. */
  readonly count?: number;
}

/** One request and what became of it. */
export interface Call {
  readonly client: string;
  readonly kind: Kind;
  /** Which replica, 0 to 2. */
  readonly replica: number;
  readonly start: number;
  readonly end: number;
  readonly requestId: string;
  readonly asked: Facts;
  readonly told: Facts;
  /** 0 where no answer came. */
  readonly status: number;
  /** Of the error body; `''` where there is none, `'?'` where the body is no error body though the status is one. */
  readonly code: string;
  readonly retryAfter: boolean;
  /** Taint markers of any account that the answer bore. */
  readonly taints: readonly string[];
  readonly failure?: 'refused' | 'reset' | 'timeout';
}

/** A time in which something was broken on purpose, or a replica was not there. */
export interface Mark {
  readonly what: 'fault' | 'down' | 'stopped';
  readonly name: string;
  readonly replica?: number;
  readonly from: number;
  /** When it was mended: for a replica that was down, when it was ready again. */
  readonly until: number;
}

export interface History {
  readonly calls: readonly Call[];
  readonly marks: readonly Mark[];
  /** Times in which this process itself did not run: what it measured then was its own slowness. */
  readonly stalls: readonly Pick<Mark, 'from' | 'until'>[];
  /** The taint marker of each account. */
  readonly taintOf: ReadonlyMap<string, string>;
}

export const isAnswered = ({ status }: Call): boolean => status !== 0;
export const isOk = ({ status }: Call): boolean => status >= 200 && status < 400;

/** Without a verdict it may be carried out at any later time: it may lie in the buffer of a member that is frozen. */
export const latestEffect = ({ status, end }: Call): number =>
  [0, 502, 503].includes(status) ? Number.POSITIVE_INFINITY : end;

const READS: ReadonlySet<Kind> = new Set(['app.list', 'app.read', 'otel.read', 'poll']);
export const isWrite = ({ kind }: Pick<Call, 'kind'>): boolean => !READS.has(kind);

const STALL_LOOK_MS = 20;
const STALL_MS = 100;

/** Writes the history down while it happens. */
export class Recorder implements History, Disposable {
  readonly calls: Call[] = [];
  readonly marks: Mark[] = [];
  readonly stalls: { from: number; until: number }[] = [];
  readonly taintOf = new Map<string, string>();
  readonly #origin = performance.now();
  readonly #timer: NodeJS.Timeout;

  constructor() {
    let before = this.now();
    this.#timer = setInterval(() => {
      const now = this.now();
      if (now - before > STALL_LOOK_MS + STALL_MS) this.stalls.push({ from: before, until: now });
      before = now;
    }, STALL_LOOK_MS).unref();
  }

  now(): number {
    return performance.now() - this.#origin;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  /** Keeps it as JSON lines, in the order of the ends. @returns where */
  save(file = join(mkdtempSync(join(tmpdir(), 'muster-chaos-history-')), 'history.jsonl')): string {
    mkdirSync(dirname(file), { recursive: true });
    const taints = [...this.taintOf].map(([account, taint]) => ({ account, taint }));
    const lines = [
      ...taints,
      ...this.marks,
      ...this.stalls.map((stall) => ({ what: 'stall', ...stall })),
      ...this.calls,
    ];
    writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''), { mode: 0o600 });
    return file;
  }
}
