import { constants, openSync, writevSync } from 'node:fs';
import process from 'node:process';
import { isatty } from 'node:tty';
import { pino, stdTimeFunctions, symbols, type DestinationStream, type LogFn, type Logger } from 'pino';
import { systemClock, type Clock } from './time/clock.ts';

type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/**
 * The log: JSON lines. `error` means that a person must act, and a healthy night has none; a refused request is `info`
 * at most. No line holds a secret: a value that may be one is a `Secret`, which prints as `[redacted]`.
 *
 * The message is a constant and names the cause of the line; what differs from line to line is in the fields.
 */
export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>;

/** Decides which lines of a cause are written. */
interface Sampling {
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

/** Creates a log. Without a destination it is stdout: once in a process. */
export function createLog(
  level: LogLevel,
  destination: DestinationStream = new LogOutput(),
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
  if (destination instanceof LogOutput) destination.atEnd(() => sampler.tellAll());
  return pino(options, destination);
}

/** The bytes of lines that wait while stdout takes none; lines beyond them are dropped. */
const WAITING_BYTES_MAX = 1024 * 1024;
/** Errors have so much more: the one that ends the process must not be dropped for what came before it. */
const ERROR_BYTES_MAX = 64 * 1024;
/** pino's number of `error`. */
const ERROR_LEVEL = 50;
const RETRY_MS = 100;
/** The time that the end of the process waits for a reader that stands still. */
const LAST_WORDS_MS = 1000;
/** The most lines of one system call; Linux takes 1024. */
const LINES_AT_ONCE = 500;

/**
 * Stdout as the log of a process. A line is written at once where it is taken, and waits otherwise: a reader that
 * stands still, a terminal that is halted and a full disk stop nothing. When the process ends, what waits is written as
 * far as it is taken. A stream of pino's waits for ever then.
 */
export class LogOutput implements DestinationStream {
  readonly #fd = unblocked();
  /** pino tells the level of each line by it. */
  readonly [symbols.needsMetadataGsym] = true;
  lastLevel = 0;
  #waiting: Buffer[] = [];
  #bytes = 0;
  #retry: NodeJS.Timeout | undefined;
  #dropped = 0;
  /** Lines of another kind, each with what is told when it is written; they do not count among those of the log. */
  readonly #appended = new Map<Buffer, () => void>();
  #tell: ((lines: number) => void) | undefined;
  #lastWords = (): void => undefined;

  constructor() {
    process.once('exit', () => this.#end());
  }

  write(line: string): void {
    const bytes = Buffer.from(line);
    const more = this.lastLevel >= ERROR_LEVEL ? ERROR_BYTES_MAX : 0;
    if (this.#bytes + bytes.length > WAITING_BYTES_MAX + more) {
      this.#dropped += 1;
      return this.#tell?.(1);
    }
    this.#bytes += bytes.length;
    this.#push(bytes);
  }

  #push(bytes: Buffer): void {
    this.#waiting.push(bytes);
    this.#retry ??= this.#writeAll() === 'done' ? undefined : setTimeout(() => this.#again(), RETRY_MS).unref();
  }

  /**
   * Writes lines of another kind between those of the log. They are never dropped; the caller waits for them, and gives
   * no more meanwhile.
   * @returns a promise that resolves when the lines are written
   * @throws the signal's reason; lines of which nothing was written are then taken back
   */
  async append(lines: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const bytes = Buffer.from(lines);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const takeBack = (): void => {
      if (this.#appended.delete(bytes)) this.#waiting = this.#waiting.filter((line) => line !== bytes);
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', takeBack, { once: true });
    this.#appended.set(bytes, resolve);
    this.#push(bytes);
    try {
      await promise;
    } finally {
      signal.removeEventListener('abort', takeBack);
    }
  }

  /** @param tell is told how many lines were dropped, those of before at once; it must not throw */
  onDropped(tell: (lines: number) => void): void {
    this.#tell = tell;
    if (this.#dropped > 0) tell(this.#dropped);
  }

  /** @param words writes the last lines of the log, when the process ends */
  atEnd(words: () => void): void {
    this.#lastWords = words;
  }

  #again(): void {
    if (this.#writeAll() === 'done') this.#retry = undefined;
    else this.#retry?.refresh();
  }

  /** @returns `busy` where stdout may take the rest soon; `stuck` for a full disk, and a reader that is gone */
  #writeAll(): 'done' | 'busy' | 'stuck' {
    try {
      while (this.#waiting.length > 0) this.#took(writevSync(this.#fd, this.#waiting.slice(0, LINES_AT_ONCE)));
      return 'done';
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'EAGAIN' ? 'busy' : 'stuck';
    }
  }

  #took(bytes: number): void {
    let left = bytes;
    let whole = 0;
    for (const line of this.#waiting) {
      if (line.length > left) break;
      left -= line.length;
      whole += 1;
      const tell = this.#appended.get(line);
      this.#appended.delete(line);
      if (tell) tell();
      else this.#bytes -= line.length;
    }
    this.#waiting = this.#waiting.slice(whole);
    const [partly] = this.#waiting;
    if (!partly || left === 0) return;
    const rest = partly.subarray(left);
    this.#waiting[0] = rest;
    const tell = this.#appended.get(partly);
    this.#appended.delete(partly);
    if (tell) this.#appended.set(rest, tell);
    else this.#bytes -= left;
  }

  #end(): void {
    this.#lastWords();
    const sleeper = new Int32Array(new SharedArrayBuffer(4));
    for (let waitedMs = 0; this.#writeAll() === 'busy' && waitedMs < LAST_WORDS_MS; waitedMs += RETRY_MS) {
      Atomics.wait(sleeper, 0, 0, RETRY_MS);
    }
  }
}

/**
 * A descriptor of stdout for which no write waits. Node sets a pipe and a socket so when it opens its own stream. It
 * leaves a terminal as it is, since others write there, too: that is opened once more.
 */
function unblocked(): number {
  if (!isatty(1)) return process.stdout.fd;
  try {
    return openSync('/proc/self/fd/1', constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return 1;
  }
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
