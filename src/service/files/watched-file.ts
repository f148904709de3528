import { dirname } from 'node:path';
import { inTime } from '../../concurrency/in-time.ts';
import { SerialByKey } from '../../concurrency/serial-by-key.ts';
import { named } from '../../config/files/config-error.ts';
import { contentAtStart, type ConfiguredFile, type FileVariable } from '../../config/files/configured-file.ts';
import type { Log } from '../../log.ts';
import type { Clock } from '../../time/clock.ts';
import type { fileMetrics } from './metrics.ts';
import { faultIn, FileFault, trustedContent, type Told } from './file-content.ts';

/*
 * Every file of the configuration is read at the start and every 10 s, by the one rule of this file (ADR 0060): a valid
 * content takes effect at once; one that cannot be read or used leaves the content from before in use, and is told by
 * the log, a metric and `degraded` at /readyz. After 10 minutes of that, content that lets somebody in is refused.
 */

/** From one look at a file to the next at most, unless that file's own read hangs. */
export const FILES_EVERY_MS = 10_000;
/** A round waits no longer for files whose read hangs. */
const ROUND_MS_MAX = 1000;
/** The pause between two rounds. */
export const ROUNDS_PAUSE_MS = FILES_EVERY_MS - ROUND_MS_MAX;
/** How long content that lets somebody in is used while its file cannot be. */
export const KEPT_MS = 600_000;
/**
 * A read that hangs is a fault of the file. It holds up the files of its folder, which are read one after the other,
 * and no other one: so a folder that hangs occupies one of the four threads that read files (libuv's), and four such
 * folders would occupy all.
 */
const READ_MS_MAX = 5000;

/** The contents of the files of one use, in their order. */
type Contents = readonly [Buffer, ...Buffer[]];

/** A setting that stands in one file, or in several that change together. */
export interface FileUse<T> {
  /** The first one names the setting. */
  readonly files: readonly [ConfiguredFile, ...ConfiguredFile[]];
  /**
   * @param current what is in use; undefined at the start
   * @returns `current` where the setting is still the same
   * @throws Error in words, without the content of the files
   */
  readonly parse: (contents: Contents, current: T | undefined) => T;
  /** Judges new content by more than the content itself. @throws Error in words, without the content of the files */
  readonly judge?: (next: T, current: T) => Promise<void>;
  /**
   * Is told once the new content is in use. Where it throws, the content from before is in use again.
   * @returns the fields of the log beside the names of the files; no secret
   */
  readonly taken?: (next: T, before: T) => object | undefined;
  /** The expiry of the setting in use, in milliseconds since 1970. */
  readonly expiresAt?: (current: T) => number;
  /** The words for what ends once the files could not be used for 10 minutes; undefined where nothing ends. */
  readonly refused?: string;
}

/** The setting that a file has at present. */
export interface WatchedFile<T> {
  readonly current: T;
  /** Whether the files could not be used for 10 minutes. */
  readonly isOverdue: boolean;
}

export interface WatchedFilesDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Pick<Log, 'info' | 'error'>;
  readonly metrics: ReturnType<typeof fileMetrics>;
  /** Only tests give this and `inTime`. */
  readonly read?: (file: ConfiguredFile) => Promise<Buffer>;
  readonly inTime?: typeof inTime;
}

type Deps = Required<WatchedFilesDeps>;

/** All files of a process that are read again while it runs. */
export class WatchedFiles {
  readonly #deps: Deps;
  readonly #folders = new SerialByKey(Number.POSITIVE_INFINITY);
  readonly #all: Look[] = [];

  constructor({ read = trustedContent, ...deps }: WatchedFilesDeps) {
    const inFolder = (file: ConfiguredFile): Promise<Buffer> =>
      this.#folders.tryRun(dirname(file.path), () => read(file)) ?? read(file);
    this.#deps = { inTime, ...deps, read: inFolder };
  }

  /** Reads files for the first time, and from now on in each round. @throws ConfigError that names the variable */
  add<T>(use: FileUse<T>): WatchedFile<T> {
    const watched = new Watched(use, this.#deps);
    this.#all.push(watched);
    return watched;
  }

  /** Looks at all files once, and leaves those whose read hangs to themselves. Never rejects. */
  async round(): Promise<void> {
    const looks = Promise.all(this.#all.map((one) => one.look()));
    await this.#deps.inTime(looks, ROUND_MS_MAX, () => new Error('a read hangs')).catch(() => undefined);
  }

  /** The files that cannot be used, and why, in words for everybody, without paths; undefined where there are none. */
  trouble(): string | undefined {
    const troubles = this.#all.map(({ trouble }) => trouble).filter((trouble) => trouble !== undefined);
    return troubles.length === 0 ? undefined : troubles.join('; ');
  }
}

interface Look {
  readonly trouble: string | undefined;
  look(): Promise<void>;
}

interface Fault extends Told {
  /** The time at which it was first seen, on the monotonic clock. */
  readonly since: number;
  readonly isOverdue: boolean;
}

/** The content decides, and not inode or time of a file: a mounted Secret keeps neither. */
class Watched<T> implements WatchedFile<T>, Look {
  readonly #use: FileUse<T>;
  readonly #deps: Deps;
  #current: T;
  #contents: Contents;
  #fault: Fault | undefined;
  #reading: Promise<Contents | 'changing'> | undefined;
  #looking: Promise<void> | undefined;

  constructor(use: FileUse<T>, deps: Deps) {
    this.#use = use;
    this.#deps = deps;
    const [first, ...others] = use.files;
    const contents: Contents = [contentAtStart(first), ...others.map(contentAtStart)];
    this.#contents = contents;
    this.#current = named(use.files.map(({ name }) => name).join(', '), () => use.parse(contents, undefined));
    deps.metrics.fileUnusable(this.#variable, false);
    this.#tellExpiry();
  }

  get current(): T {
    return this.#current;
  }

  get isOverdue(): boolean {
    return this.#fault !== undefined && this.#deps.clock.monotonic() - this.#fault.since >= KEPT_MS;
  }

  get trouble(): string | undefined {
    if (this.#fault === undefined) return undefined;
    const { refused } = this.#use;
    const lapsed = this.isOverdue && refused !== undefined ? `; ${refused}` : '';
    return `${this.#variable}: ${this.#fault.shown}${lapsed}`;
  }

  /** Goes on with the look that is under way, if there is one. */
  async look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    await this.#looking;
  }

  async #look(): Promise<void> {
    try {
      if (await this.#take()) this.#usable();
    } catch (error) {
      this.#unusable(faultIn(error));
    }
  }

  get #variable(): FileVariable {
    return this.#use.files[0].variable;
  }

  get #facts(): object {
    return { file: this.#variable, paths: this.#use.files.map(({ path }) => path) };
  }

  /** @returns false where the files are changing at this moment: the next round finds all of them changed */
  async #take(): Promise<boolean> {
    // A read that hangs is waited for again, and none is begun beside it.
    this.#reading ??= contentsOf(this.#use.files, this.#deps.read).finally(() => {
      this.#reading = undefined;
    });
    const late = (): Error => new Error('the file cannot be read within 5 s');
    const contents = await this.#deps.inTime(this.#reading, READ_MS_MAX, late);
    if (contents === 'changing') return false;
    if (areSame(contents, this.#contents)) return true;
    const before = this.#current;
    const next = this.#use.parse(contents, before);
    if (next !== before) await this.#use.judge?.(next, before);
    const facts = next === before ? undefined : this.#put(next, before);
    this.#contents = contents;
    if (next === before) return true;
    this.#tellExpiry();
    this.#deps.log.info({ ...this.#facts, ...facts }, 'a file of the configuration has changed');
    return true;
  }

  #put(next: T, before: T): object | undefined {
    this.#current = next;
    try {
      return this.#use.taken?.(next, before);
    } catch (error) {
      this.#current = before;
      throw error;
    }
  }

  #usable(): void {
    if (this.#fault === undefined) return;
    this.#fault = undefined;
    this.#deps.metrics.fileUnusable(this.#variable, false);
    this.#deps.log.info(this.#facts, 'a file of the configuration can be used again');
  }

  /** Each reason is told once, and so is the end of the time for which the content from before is used. */
  #unusable({ why, shown }: Told): void {
    const { log, metrics, clock } = this.#deps;
    const before = this.#fault;
    this.#fault = { why, shown, since: before?.since ?? clock.monotonic(), isOverdue: this.isOverdue };
    metrics.fileUnusable(this.#variable, true);
    if (why !== before?.why) {
      log.error({ ...this.#facts, why }, 'a file of the configuration cannot be used; what it had before stays');
    }
    const { refused } = this.#use;
    if (refused === undefined || !this.#fault.isOverdue || before?.isOverdue === true) return;
    log.error({ ...this.#facts, why, refused }, 'a file of the configuration could not be used for 10 minutes');
  }

  #tellExpiry(): void {
    const expiresAt = this.#use.expiresAt?.(this.#current);
    if (expiresAt !== undefined) this.#deps.metrics.certificateExpires(this.#variable, expiresAt / 1000);
  }
}

/** A pair of files comes to be replaced one after the other: what was read is of one moment, or nothing. */
async function contentsOf(
  [first, ...others]: FileUse<unknown>['files'],
  read: Deps['read'],
): Promise<Contents | 'changing'> {
  const content = await read(first);
  const rest: Buffer[] = [];
  for (const file of others) {
    const named = (error: unknown): Error => {
      const { why, shown } = faultIn(error);
      return new FileFault(`${file.variable}: ${why}`, `${file.variable}: ${shown}`, { cause: error });
    };
    rest.push(await read(file).catch((error: unknown) => Promise.reject(named(error))));
  }
  if (others.length > 0 && !content.equals(await read(first))) return 'changing';
  return [content, ...rest];
}

const areSame = (some: Contents, others: Contents): boolean =>
  some.every((content, index) => content.equals(others[index] ?? Buffer.alloc(0)));
