import { randomUUID } from 'node:crypto';
import { link, lstat, open, rename, rm, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { naming } from './file-error.ts';

/**
 * Writes a file that is there whole or not at all, whenever the machine stops: under another name beside it, for its
 * owner alone, then to the disk, and then under its own name.
 * @param replace whether a file that has the name already is replaced; otherwise it stays, whoever was first
 * @param keepGroup whether a group that could read the file of that name can read the new one
 * @param write is handed a function that appends bytes
 * @throws the system's error with its code, and with the path or its folder: `EEXIST` where the name is taken and not
 * to be replaced; and what `write` throws
 */
export async function writeNewFile(
  path: string,
  { replace, keepGroup = false }: { readonly replace: boolean; readonly keepGroup?: boolean },
  write: (put: (bytes: Uint8Array | string) => Promise<void>) => Promise<void>,
): Promise<void> {
  const directory = dirname(path);
  const temporary = join(directory, `.${basename(path)}.${randomUUID()}.partial`);
  const file = await open(temporary, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    throw naming(error.code === 'ENOENT' ? directory : path, error);
  });
  try {
    try {
      await write((bytes) => file.writeFile(bytes));
      if (keepGroup) await letGroupRead(file, path);
      await file.sync();
    } finally {
      await file.close();
    }
    // A link, not a rename: it never replaces what somebody else has put there meanwhile.
    await (replace ? rename : link)(temporary, path).catch((error: unknown) => {
      throw naming(path, error);
    });
    await syncDirectory(directory);
  } finally {
    await rm(temporary, { force: true });
  }
}

const GROUP_READS = 0o040;
const ROOT = 0;

/** A link, or a file that another user has put there, says nothing about who may read ours. */
async function letGroupRead(file: FileHandle, path: string): Promise<void> {
  const there = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  const { uid } = await file.stat();
  if (!there?.isFile() || (there.uid !== uid && there.uid !== ROOT) || (there.mode & GROUP_READS) === 0) return;
  await file.chown(uid, there.gid);
  await file.chmod(0o640);
}

/** Makes the names in a directory last, whenever the machine stops. @throws the system's error */
export async function syncDirectory(directory: string): Promise<void> {
  const opened = await open(directory, 'r');
  try {
    await opened.sync();
  } finally {
    await opened.close();
  }
}
