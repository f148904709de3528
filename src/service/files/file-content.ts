import { boundedContent } from '../../config/files/bounded-content.ts';
import type { ConfiguredFile } from '../../config/files/configured-file.ts';

/* The content of a file while the service runs, and the words for why there is none. */

/** A reason in words. */
export interface Told {
  /** The words of the log. */
  readonly why: string;
  /** The words that everybody may read: /readyz asks for no token. */
  readonly shown: string;
}

/** @throws FileFault where others can write it; as `boundedContent` */
export async function trustedContent({ path, bytesMax, distrusted }: ConfiguredFile): Promise<Buffer> {
  const content = await boundedContent(path, bytesMax);
  const why = distrusted?.(path);
  if (why !== undefined) throw new FileFault(why, DISTRUSTED);
  return content;
}

const DISTRUSTED = 'others can write it, or put another file in its place: the log has its path, and how to mend it';

/** A fault whose words for the log name a path. */
export class FileFault extends Error implements Told {
  override readonly name = 'FileFault';
  readonly why: string;
  readonly shown: string;

  constructor(why: string, shown: string, options?: ErrorOptions) {
    super(why, options);
    this.why = why;
    this.shown = shown;
  }
}

/** The rule that is broken, or the system's code; never the content. */
export function faultIn(error: unknown): Told {
  if (error instanceof FileFault) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  const why = code === undefined ? message : `the file cannot be read (${code})`;
  return { why, shown: why };
}
