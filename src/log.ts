import process from 'node:process';
import {
  destination as fileDestination,
  pino,
  stdTimeFunctions,
  type DestinationStream,
  type LogFn,
  type Logger,
} from 'pino';
import { systemClock, type Clock } from './time/clock.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/**
 * The log: JSON lines. `error` means that a person must act, and a healthy night has none; a refused request is `info`
 * at most. No line holds a secret: a value that may be one is a `Secret`, which prints as `[redacted]`.
 *
 * The message is a constant and names the cause of the line; what differs from line to line is in the fields.
 */
export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>;

/** Decides which lines of a cause are written. */
export interface Sampling {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Lines of one cause in a second; the others are counted, and told in one line. */
  readonly linesPerSecond: number;
}

/** A client can cause a line with each request, and a disk that it fills ends the service. */
export const SAMPLING: Sampling = { clock: systemClock, linesPerSecond: 10 };

interface LogOptions {
  readonly sampling?: Sampling;
  /** The replica that writes the log, on each of its lines; absent for a command that is none. */
  readonly replicaId?: string;
}

/** Creates the log of the process; `destination` is stdout where it is absent. */
export function createLog(
  level: LogLevel,
  destination?: DestinationStream,
  { sampling = SAMPLING, replicaId }: LogOptions = {},
): Log {
  const sampler = new Sampler(sampling);
  const options = {
    level,
    base: { service: 'muster', ...(replicaId !== undefined && { replicaId }) },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    hooks: {
      logMethod(this: Logger, line: Parameters<LogFn>, write: LogFn): void {
        const cause = causeOf(line);
        const tell = (leftOut: number): void => write.call(this, { ...cause, leftOut }, LEFT_OUT);
        if (sampler.takes(cause, tell)) write.apply(this, line);
      },
    },
  };
  if (destination !== undefined) return pino(options, destination);
  // However the process ends. A silent log has nothing to tell.
  if (level !== 'silent') process.once('exit', () => sampler.tellAll());
  return pino(options, stdout());
}

/** The lines that wait while a full disk takes none; those beyond are dropped. */
const WAITING_BYTES_MAX = 1024 * 1024;

/**
 * Where stdout is a file on a full disk, the service goes on without its log: pino would throw at each line. Where it is
 * a pipe that nobody reads, each line waits for its reader, and the service with it, so that no line is lost.
 */
function stdout(): DestinationStream {
  const stream = fileDestination({ dest: 1, sync: true, maxLength: WAITING_BYTES_MAX });
  stream.on('error', () => undefined);
  return stream;
}

const LEFT_OUT = 'further lines of this cause were left out';

/**
 * The lines that are all written: the log is their witness outside of the store, and no client can bring them about
 * more often than once for an account and hour, or once for a night.
 */
const WITNESSES: ReadonlySet<string> = new Set([
  'audit sealed',
  'audit cut',
  'a night is metered',
  // Nothing else keeps the account and the two counts.
  'a night that is recorded already was counted differently now; the record stays',
]);

/** The message of a line, and what tells apart the causes that have the same message. */
interface Cause {
  readonly of: string;
  /** A word of a closed set. */
  readonly by: string;
}

function causeOf(line: readonly unknown[]): Cause {
  const [fields, message] = typeof line[0] === 'string' ? [{}, line[0]] : [line[0], line[1]];
  const { credential, why, reason, loop, action, err, route } = (fields ?? {}) as Readonly<Record<string, unknown>>;
  // Junk must not hide secrets that are tried on a key that exists.
  if (typeof credential === 'string')
    return { of: String(message), by: `${credential} ${String(why)}`.slice(0, BY_CHARACTERS_MAX) };
  // One fault that a client has found must not hide those of other routes; nor many creates the end of an account.
  const by = reason ?? loop ?? action ?? (err === undefined ? undefined : route);
  return { of: String(message), by: typeof by === 'string' ? by.slice(0, BY_CHARACTERS_MAX) : '' };
}

const SECOND_MS = 1000;
const BY_CHARACTERS_MAX = 40;
/** Causes in memory. There are fewer; should that change, those above the bound share one second. */
const CAUSES_MAX = 500;

/** One second of a cause, from its first line on. */
interface Second {
  readonly began: number;
  lines: number;
  leftOut: number;
  tell: (leftOut: number) => void;
}

/** Counts the lines of each cause. */
class Sampler {
  readonly #sampling: Sampling;
  readonly #seconds = new Map<string, Second>();

  constructor(sampling: Sampling) {
    this.#sampling = sampling;
  }

  /**
   * Whether the line is to be written.
   * @param tell is called once, a second after the first line of the cause, where lines of it were left out
   */
  takes(cause: Cause, tell: (leftOut: number) => void): boolean {
    if (WITNESSES.has(cause.of)) return true;
    const now = this.#sampling.clock.monotonic();
    const key = this.#keyOf(`${cause.of}\n${cause.by}`, now);
    const known = this.#seconds.get(key);
    if (known !== undefined && now - known.began >= SECOND_MS) this.#end(key, known);
    const second = this.#seconds.get(key) ?? { began: now, lines: 0, leftOut: 0, tell };
    this.#seconds.set(key, second);
    second.lines += 1;
    if (second.lines <= this.#sampling.linesPerSecond) return true;
    second.tell = tell;
    second.leftOut += 1;
    if (second.leftOut === 1) setTimeout(() => this.#end(key, second), second.began + SECOND_MS - now).unref();
    return false;
  }

  /** Tells of all that was left out and not told yet. */
  tellAll(): void {
    for (const [key, second] of this.#seconds) this.#end(key, second);
  }

  #keyOf(key: string, now: number): string {
    if (this.#seconds.size < CAUSES_MAX || this.#seconds.has(key)) return key;
    for (const [other, second] of this.#seconds) if (now - second.began >= SECOND_MS) this.#end(other, second);
    return this.#seconds.size < CAUSES_MAX ? key : '';
  }

  #end(key: string, second: Second): void {
    if (this.#seconds.get(key) !== second) return;
    this.#seconds.delete(key);
    if (second.leftOut > 0) second.tell(second.leftOut);
  }
}
