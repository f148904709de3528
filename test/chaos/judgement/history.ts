import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/*
 * The history of a run, as the clients saw it. Instants are milliseconds of the monotonic clock since the run began. No
 * secret is in it: credentials and codes are named by their SHA-256, as they are in the store.
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
  | 'account.change'
  | 'key.create'
  | 'key.narrow'
  | 'key.rotate'
  | 'key.revoke'
  | 'token.create'
  | 'token.revoke'
  | 'person.read'
  | 'person.write'
  | 'person.disable'
  | 'role.take';

/** The fields of an account that the operator changes one at a time. */
export const ACCOUNT_FIELDS = ['name', 'entitlement', 'adoptableBy', 'disabled'] as const;
export type AccountField = (typeof ACCOUNT_FIELDS)[number];

/** The facts that a request names, or that an answer tells. */
export interface Facts {
  readonly account?: string;
  /** The key that asks, by the name of its secret: the key's id, and `+` with a number after rotations. */
  readonly key?: string;
  /** The key or access token that is revoked or narrowed, or was made; the secret that a rotation ends. */
  readonly target?: string;
  /** The person of the panel who asks, is disabled, or loses the role on the installation. */
  readonly person?: string;
  /** The way in of the person who asks: the SHA-256 of a session, or the id of an access token. */
  readonly bearer?: string;
  readonly app?: string;
  /** The hash of the credential; that of the code stands in `code`. */
  readonly credential?: string;
  readonly code?: string;
  /** The field of an account that is changed. */
  readonly field?: AccountField;
  /** An app's status, a collector's address, or what a field is changed to. */
  readonly value?: string;
  /** How many apps a list has. */
  readonly count?: number;
}

/** One request and its outcome. */
export interface Call {
  readonly client: string;
  readonly kind: Kind;
  /** The number of the replica, 0 to 2. */
  readonly replica: number;
  readonly start: number;
  readonly end: number;
  readonly requestId: string;
  readonly asked: Facts;
  readonly told: Facts;
  /** 0 where no answer came. */
  readonly status: number;
  /** The code of the error body; `''` where there is none, `'?'` where the status is an error and the body is not. */
  readonly code: string;
  readonly retryAfter: boolean;
  /** The markers of accounts that were in the answer. */
  readonly markers: readonly string[];
  readonly failure?: 'refused' | 'reset' | 'timeout';
}

/** A time in which something was broken on purpose, or a replica was not there. */
export interface Mark {
  readonly what: 'fault' | 'down' | 'stopped';
  readonly name: string;
  readonly replica?: number;
  readonly from: number;
  /** The instant of the repair: for a replica that was down, when it was ready again. */
  readonly until: number;
}

export interface History {
  readonly calls: readonly Call[];
  readonly marks: readonly Mark[];
  /** Times in which this process itself did not run, so that its measurements are of its own slowness. */
  readonly stalls: readonly Pick<Mark, 'from' | 'until'>[];
  /** The marker of each account. */
  readonly markerOf: ReadonlyMap<string, string>;
}

/** The id of the key that a secret belongs to. */
export const keyIdOf = (secret: string): string => secret.split('+')[0] ?? '';

export const isOk = ({ status }: Call): boolean => status >= 200 && status < 400;

/** A request without a clear answer may be carried out at any later time, as from the buffer of a frozen member. */
export const latestEffect = ({ status, end }: Call): number =>
  [0, 502, 503].includes(status) ? Number.POSITIVE_INFINITY : end;

const READS: ReadonlySet<Kind> = new Set(['app.list', 'app.read', 'otel.read', 'poll', 'person.read']);
export const isWrite = ({ kind }: Pick<Call, 'kind'>): boolean => !READS.has(kind);

const STALL_LOOK_MS = 20;
const STALL_MS = 100;

/** Writes the history down while it happens. */
export class Recorder implements History, Disposable {
  readonly calls: Call[] = [];
  readonly marks: Mark[] = [];
  readonly stalls: { from: number; until: number }[] = [];
  readonly markerOf = new Map<string, string>();
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
    const markers = [...this.markerOf].map(([account, marker]) => ({ account, marker }));
    const lines = [
      ...markers,
      ...this.marks,
      ...this.stalls.map((stall) => ({ what: 'stall', ...stall })),
      ...this.calls,
    ];
    writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''), { mode: 0o600 });
    return file;
  }
}
