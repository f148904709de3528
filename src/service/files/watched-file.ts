import { open } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { inTime } from '../../concurrency/in-time.ts';
import { named } from '../../config/files/config-error.ts';
import {
  contentAtStart,
  NO_FILE,
  OPEN_TO_READ,
  tooLong,
  type ConfiguredFile,
  type FileVariable,
} from '../../config/files/configured-file.ts';
import type { Log } from '../../log.ts';
import type { Clock } from '../../time/clock.ts';

/*
 * Every file of the configuration is read at the start and every 10 s, by the one rule of this file (ADR 0060): a valid
 * content takes effect at once; one that cannot be read or used leaves the content from before in use, and is told by the
 * log, a metric and `degraded` at /readyz. After 10 minutes of that, content that lets somebody in is refused.
 */

/** The pause between two looks at the files. */
export const FILES_EVERY_MS = 10_000;
/** How long content that lets somebody in is used while its file cannot be. */
export const KEPT_MS = 600_000;
/** A file system that hangs is a fault of the file, and holds up no other one. */
const READ_MS_MAX = 5000;

/** What a use makes of its files: the content of each, in their order. */
export type Contents = readonly [Buffer, ...Buffer[]];

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
  /** The new content is in use. @returns what the log is to have beside the names of the files; no secret */
  readonly taken?: (next: T, before: T) => object | undefined;
  /** When what is in use expires, in milliseconds since 1970. */
  readonly expiresAt?: (current: T) => number;
  /** What is no longer done, in words, once the files could not be used for 10 minutes; undefined where nothing ends. */
  readonly refused?: string;
}

/** What is in use of a file. */
export interface WatchedFile<T> {
  readonly current: T;
  /** Whether the files could not be used for 10 minutes. */
  readonly isOverdue: boolean;
}

export interface FileMetrics {
  /** @param file the variable of the file */
  fileUnusable(file: FileVariable, isUnusable: boolean): void;
  /** @param file the variable of the file @param timestampSeconds since 1970 */
  certificateExpires(file: FileVariable, timestampSeconds: number): void;
}

export interface WatchedFilesDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Pick<Log, 'info' | 'error'>;
  readonly metrics: FileMetrics;
}

/** All files of a process that are read again while it runs. */
export class WatchedFiles {
  readonly #deps: WatchedFilesDeps;
  readonly #all: Look[] = [];

  constructor(deps: WatchedFilesDeps) {
    this.#deps = deps;
  }

  /** Reads files for the first time, and from now on in each round. @throws ConfigError that names the variable */
  add<T>(use: FileUse<T>): WatchedFile<T> {
    const watched = new Watched(use, this.#deps);
    this.#all.push(watched);
    return watched;
  }

  /** Looks at all files once. Never rejects. */
  async round(): Promise<void> {
    await Promise.all(this.#all.map((one) => one.look()));
  }

  /** The files that cannot be used, and why, in words; undefined where there are none. */
  trouble(): string | undefined {
    const troubles = this.#all.map(({ trouble }) => trouble).filter((trouble) => trouble !== undefined);
    return troubles.length === 0 ? undefined : troubles.join('; ');
  }
}

interface Look {
  readonly trouble: string | undefined;
  look(): Promise<void>;
}

interface Fault {
  readonly why: string;
  /** When it was first seen, on the monotonic clock. */
  readonly since: number;
  readonly isOverdue: boolean;
}

/** The content decides, and not inode or time of a file: a mounted Secret keeps neither. */
class Watched<T> implements WatchedFile<T>, Look {
  readonly #use: FileUse<T>;
  readonly #deps: WatchedFilesDeps;
  #current: T;
  #contents: Contents;
  #fault: Fault | undefined;
  #reading: Promise<Contents | 'changing'> | undefined;

  constructor(use: FileUse<T>, deps: WatchedFilesDeps) {
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
    return `${this.#use.files[0].name}: ${this.#fault.why}${this.isOverdue && refused !== undefined ? `; ${refused}` : ''}`;
  }

  async look(): Promise<void> {
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
    this.#reading ??= contentsOf(this.#use.files).finally(() => {
      this.#reading = undefined;
    });
    const contents = await inTime(this.#reading, READ_MS_MAX, () => new Error('the file cannot be read within 5 s'));
    if (contents === 'changing') return false;
    if (areSame(contents, this.#contents)) return true;
    const before = this.#current;
    const next = this.#use.parse(contents, before);
    if (next !== before) await this.#use.judge?.(next, before);
    this.#contents = contents;
    if (next === before) return true;
    this.#current = next;
    const facts = this.#use.taken?.(next, before);
    this.#tellExpiry();
    this.#deps.log.info({ ...this.#facts, ...facts }, 'a file of the configuration has changed');
    return true;
  }

  #usable(): void {
    if (this.#fault === undefined) return;
    this.#fault = undefined;
    this.#deps.metrics.fileUnusable(this.#variable, false);
    this.#deps.log.info(this.#facts, 'a file of the configuration can be used again');
  }

  /** Each reason is told once, and so is the end of the time for which the content from before is used. */
  #unusable(why: string): void {
    const { log, metrics, clock } = this.#deps;
    const before = this.#fault;
    this.#fault = { why, since: before?.since ?? clock.monotonic(), isOverdue: this.isOverdue };
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
async function contentsOf(files: FileUse<unknown>['files']): Promise<Contents | 'changing'> {
  const [first, ...others] = files;
  const content = await trustedContent(first);
  const rest: Buffer[] = [];
  for (const file of others) {
    const named = (error: unknown): Error => new Error(`${file.variable}: ${faultIn(error)}`, { cause: error });
    rest.push(await trustedContent(file).catch((error: unknown) => Promise.reject(named(error))));
  }
  if (others.length > 0 && !content.equals(await trustedContent(first))) return 'changing';
  return [content, ...rest];
}

async function trustedContent({ path, bytesMax, distrusted }: ConfiguredFile): Promise<Buffer> {
  const content = await boundedContent(path, bytesMax);
  const why = distrusted?.(path);
  if (why !== undefined) throw new Error(why);
  return content;
}

/** @throws Error in words for what is no file, or longer than `bytesMax`; the system's error where it cannot be read */
export async function boundedContent(path: string, bytesMax: number): Promise<Buffer> {
  await using file = await open(path, OPEN_TO_READ);
  if (!(await file.stat()).isFile()) throw new Error(NO_FILE);
  // One byte above the bound tells that there are more.
  const content = await buffer(file.createReadStream({ start: 0, end: bytesMax, autoClose: false }));
  if (content.length > bytesMax) throw new Error(tooLong(bytesMax));
  return content;
}

const areSame = (some: Contents, others: Contents): boolean =>
  some.every((content, index) => content.equals(others[index] ?? Buffer.alloc(0)));

/** The rule that is broken, or the system's code; never the content. */
function faultIn(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === undefined ? message : `the file cannot be read (${code})`;
}
