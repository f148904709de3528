import { constants } from 'node:fs';
import { open, rm, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { CreatedApp } from '#client';
import { syncDirectory } from '../../../service/files/new-file.ts';
import { BadCsv, csvRows } from '../../../text/csv-rows.ts';
import { csvRow } from '../../../text/csv.ts';
import { CommandFault, EXIT } from '../../terminal/exit.ts';
import type { SavedCode } from './columns.ts';
import type { Plan } from './resume-file.ts';

/*
 * Many codes: a CSV, a row for each app whose code is known. A row is on the disk before its app counts as done, and a
 * row that was cut off by the end of the process is written anew.
 */

const COLUMNS = ['number', 'name', 'appId', 'enrollCode', 'enrollCodeExpiresAt'] as const;
const HEAD = `${csvRow(COLUMNS)}\r\n`;
/** A row has at most a name of 100 characters, twice as many where all of them are quotation marks. */
const FILE_BYTES_MAX = 4_194_304;

export class CodesFile implements AsyncDisposable {
  readonly #file: FileHandle;
  readonly #apps: Map<number, SavedCode>;
  #writing: Promise<void> = Promise.resolve();

  private constructor(file: FileHandle, apps: Map<number, SavedCode>) {
    this.#file = file;
    this.#apps = apps;
  }

  /** @throws CommandFault with exit code 2 where the name is taken; the system's error */
  static async create(path: string): Promise<CodesFile> {
    const file = await open(path, 'ax', 0o600).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      throw new CommandFault(`${path} is there already: name a new file, none is overwritten.`, EXIT.usage);
    });
    try {
      const codes = await CodesFile.#begun(file, HEAD, new Map());
      await syncDirectory(dirname(path));
      return codes;
    } catch (error) {
      await file.close();
      await rm(path, { force: true });
      throw error;
    }
  }

  /**
   * Opens the file to go on; where it is not there any more, it is made anew.
   * @throws CommandFault with exit code 2 where its rows are not of the apps of the plan; the system's error
   */
  static async resume(path: string, plan: Apps): Promise<CodesFile> {
    const { O_RDWR, O_APPEND, O_NOFOLLOW } = constants;
    const file = await open(path, O_RDWR | O_APPEND | O_NOFOLLOW).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    });
    if (!file) return await CodesFile.create(path);
    try {
      const { size } = await file.stat();
      const text = size <= FILE_BYTES_MAX ? await file.readFile('utf8') : 'too long';
      const whole = text.slice(0, text.lastIndexOf('\n') + 1);
      const apps = appsIn(whole, text, plan);
      if (!apps)
        throw new CommandFault(`${path}: this is not the file of codes that the resume file names`, EXIT.usage);
      await file.truncate(Buffer.byteLength(whole));
      return await CodesFile.#begun(file, whole === '' ? HEAD : '', apps);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  static async #begun(file: FileHandle, head: string, apps: Map<number, SavedCode>): Promise<CodesFile> {
    const codes = new CodesFile(file, apps);
    if (head !== '') await codes.#append(head);
    return codes;
  }

  has(number: number): boolean {
    return this.#apps.has(number);
  }

  get size(): number {
    return this.#apps.size;
  }

  /** The apps whose codes are saved, in the order of the plan. */
  get apps(): readonly SavedCode[] {
    return [...this.#apps].toSorted(([a], [b]) => a - b).map(([, app]) => app);
  }

  /** Resolves when the code is on the disk. @throws the system's error */
  async add(number: number, coded: SavedCode & Pick<CreatedApp, 'enrollCode'>): Promise<void> {
    const { name, appId, enrollCode, enrollCodeExpiresAt } = coded;
    await this.#append(`${csvRow([String(number), name, appId, enrollCode, enrollCodeExpiresAt])}\r\n`);
    this.#apps.set(number, { appId, name, enrollCodeExpiresAt });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writing.catch(() => undefined);
    await this.#file.close();
  }

  /** One after the other: rows must not mix. After a fault nothing is written any more. */
  #append(text: string): Promise<void> {
    this.#writing = this.#writing.then(async () => {
      await this.#file.writeFile(text);
      await this.#file.datasync();
    });
    return this.#writing;
  }
}

/** The apps of a plan, in their order. */
type Apps = Pick<Plan, 'names' | 'appIds'>;

/** The apps of the whole lines of a text; undefined where the text is something else. */
function appsIn(whole: string, text: string, { names, appIds }: Apps): Map<number, SavedCode> | undefined {
  const apps = new Map<number, SavedCode>();
  if (whole === '') return HEAD.startsWith(text) ? apps : undefined;
  if (!whole.startsWith(HEAD)) return undefined;
  try {
    for (const { fields } of csvRows(whole).drop(1)) {
      const [number = '', , appId = '', enrollCode = '', enrollCodeExpiresAt = ''] = fields;
      const name = names[Number(number) - 1];
      if (name === undefined || appId === '' || enrollCode === '' || fields.length !== COLUMNS.length) return undefined;
      if (appIds && appIds[Number(number) - 1] !== appId) return undefined;
      apps.set(Number(number), { appId, name, enrollCodeExpiresAt });
    }
  } catch (error) {
    if (error instanceof BadCsv) return undefined;
    throw error;
  }
  return apps;
}
