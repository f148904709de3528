import { randomUUID } from 'node:crypto';
import { link, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/**
 * Writes a file that is there whole or not at all, whenever the machine stops: under another name beside it, for its
 * owner alone, then to the disk, and then under its own name.
 * @param replace whether a file that has the name already is replaced; otherwise it stays, whoever was first
 * @param write is handed a function that appends bytes
 * @throws the system's error with its code: `EEXIST` where the name is taken and not to be replaced; and what `write`
 * throws
 */
export async function writeNewFile(
  path: string,
  { replace }: { readonly replace: boolean },
  write: (put: (bytes: Uint8Array | string) => Promise<void>) => Promise<void>,
): Promise<void> {
  const directory = dirname(path);
  const temporary = join(directory, `.${basename(path)}.${randomUUID()}.partial`);
  const file = await open(temporary, 'wx', 0o600);
  try {
    try {
      await write((bytes) => file.writeFile(bytes));
      await file.sync();
    } finally {
      await file.close();
    }
    if (replace) await rename(temporary, path);
    // A link, not a rename: it never replaces what somebody else has put there meanwhile.
    else await link(temporary, path);
    await syncDirectory(directory);
  } finally {
    await rm(temporary, { force: true });
  }
}

async function syncDirectory(directory: string): Promise<void> {
  const opened = await open(directory, 'r');
  try {
    await opened.sync();
  } finally {
    await opened.close();
  }
}
