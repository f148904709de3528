import { open, stat, type FileHandle } from 'node:fs/promises';
import type { AuditSink } from '../../domain/audit-log/audit-log.ts';
import type { LogOutput } from '../../log.ts';

/** The end of a file in which its last line is looked for; a line is shorter. */
const TAIL_BYTES = 256 * 1024;
/** The lines may name people and addresses. */
const MODE = 0o600;

/**
 * A file that lines are appended to. One that was moved away, as rotations of logs do, is made anew; one whose last
 * line was cut off, by a full disk or a kill, goes on with a new line.
 */
export class AuditFile implements AuditSink {
  readonly #path: string;
  #open: { readonly handle: FileHandle; readonly place: string } | undefined;
  /** The last thing in the file may be a part of a line. */
  #isCut = true;

  constructor(path: string) {
    this.#path = path;
  }

  async lastLines(): Promise<readonly string[]> {
    const { text } = await this.#tail(await this.#handle());
    return text.split('\n').slice(0, -1);
  }

  async write(lines: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const handle = await this.#handle();
    try {
      if (this.#isCut) {
        const { text, bytes } = await this.#tail(handle);
        if (bytes > 0 && !text.endsWith('\n')) await handle.appendFile('\n');
      }
      this.#isCut = true;
      await handle.appendFile(lines);
      await handle.datasync();
      this.#isCut = false;
    } catch (error) {
      await this.#close();
      throw error;
    }
  }

  async #handle(): Promise<FileHandle> {
    const there = await placeOf(this.#path);
    if (this.#open && this.#open.place === there) return this.#open.handle;
    await this.#close();
    const handle = await open(this.#path, 'a+', MODE);
    const found = await handle.stat();
    if (!found.isFile()) {
      await handle.close();
      throw new Error(`MUSTER_AUDIT_LOG: ${this.#path} is no file`);
    }
    this.#open = { handle, place: `${found.dev}:${found.ino}` };
    return handle;
  }

  async #tail(handle: FileHandle): Promise<{ readonly text: string; readonly bytes: number }> {
    const { size } = await handle.stat();
    const bytes = Math.min(size, TAIL_BYTES);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(bytes), 0, bytes, size - bytes);
    return { text: buffer.toString('utf8', 0, bytesRead), bytes };
  }

  async #close(): Promise<void> {
    const was = this.#open;
    this.#open = undefined;
    this.#isCut = true;
    await was?.handle.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }
}

async function placeOf(path: string): Promise<string | undefined> {
  try {
    const { dev, ino } = await stat(path);
    return `${dev}:${ino}`;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Standard output, between the lines of the log. The lines of before cannot be read there. */
export const auditOutput = (output: Pick<LogOutput, 'append'>): AuditSink => ({
  lastLines: async () => [],
  write: async (lines, signal) => await output.append(lines, signal),
});
