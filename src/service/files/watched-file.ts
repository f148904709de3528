import { open } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';

/** Files that are read again and again while the service runs, since a mounted Secret may be renewed. */
export interface WatchedFile {
  /**
   * Takes the content that the files have now. A file that cannot be read or used changes nothing, and is reported once
   * for each reason. Never throws.
   */
  readonly reread: () => Promise<void>;
}

export interface WatchedFileOptions {
  /** Reads the files and takes their content. @throws Error in words, without the content of the files */
  readonly take: () => Promise<void>;
  /**
   * The files cannot be read or used; what was taken before stays. Called when the reason is another one than before.
   */
  readonly failed: (why: string) => void;
  /** The files can be used again. */
  readonly recovered: () => void;
}

/** The content decides, and not inode or time of a file: a mounted Secret keeps neither. */
export function watchedFile({ take, failed, recovered }: WatchedFileOptions): WatchedFile {
  let trouble: string | undefined;
  return {
    async reread() {
      try {
        await take();
        if (trouble !== undefined) recovered();
        trouble = undefined;
      } catch (error) {
        const why = fileFault(error);
        if (why !== trouble) failed(why);
        trouble = why;
      }
    },
  };
}

/** @throws Error in words for a file of more than `bytesMax` bytes; the system's error where it cannot be read */
export async function boundedContent(path: string, bytesMax: number): Promise<Buffer> {
  await using file = await open(path, 'r');
  // One byte above the bound tells that there are more.
  const content = await buffer(file.createReadStream({ start: 0, end: bytesMax, autoClose: false }));
  if (content.length > bytesMax) throw new Error(`the file has more than ${bytesMax} bytes`);
  return content;
}

/** The rule that is broken, or the system's code; never the content. */
export function fileFault(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === undefined ? message : `a file cannot be read (${code})`;
}
