import { randomUUID } from 'node:crypto';
import { link, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { CommandFault, EXIT } from './exit.ts';

/**
 * A file that is there whole or not at all: written under another name beside it, for its owner alone, brought to the
 * disk, and then given its name. Where that name is taken, it is refused unless forced.
 */
export async function writeNewFile(
  path: string,
  force: boolean,
  write: (put: (bytes: Uint8Array) => Promise<void>) => Promise<void>,
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
    if (force) await rename(temporary, path);
    else await named(temporary, path);
    await syncDirectory(directory);
  } finally {
    await rm(temporary, { force: true });
  }
}

/** A link, not a rename: it never replaces what somebody else has put there meanwhile. */
async function named(temporary: string, path: string): Promise<void> {
  await link(temporary, path).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EEXIST' ? isThere(path) : error;
  });
}

export const isThere = (path: string): CommandFault =>
  new CommandFault(`${path} is there already: choose another name, or replace it with --force.`, EXIT.usage);

async function syncDirectory(directory: string): Promise<void> {
  const opened = await open(directory, 'r');
  try {
    await opened.sync();
  } finally {
    await opened.close();
  }
}
