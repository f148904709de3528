import { constants, type Stats } from 'node:fs';
import { access, open, readFile, realpath, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { systemRandom, type RandomSource } from '../../../domain/credentials/random-ids.ts';
import { addedKey } from '../../../domain/keys/key-ring.ts';
import { keyFilePath, readKeyFile } from '../../../service/files/configured-key-file.ts';
import { printOne } from '../../output/print.ts';
import { CommandFault, fileTrouble } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';

/**
 * `muster keys add`: a new random key with the next number in the key file of this machine. It tells the number, and
 * never the key.
 * @throws CommandFault where there is no key file, or it cannot be written; ConfigError where it is none
 */
export async function addKey(call: Invocation, random: RandomSource = systemRandom()): Promise<void> {
  const found = await readKeyFile(call.env);
  if (!found) {
    const { path } = keyFilePath(call.env);
    throw new CommandFault(
      `There is no key file at ${path}: set MUSTER_KEY_FILE, or start the service, which makes it.`,
    );
  }
  // A link leads to the file that is replaced, and stays.
  const path = await realpath(found.path);
  const number = await appended(path, random);
  call.say(
    `Key ${number} is in ${found.path}. Put the same line into the key file of every replica, keep a copy of the file ` +
      'elsewhere, and make the key the active one: muster keys rotate',
  );
  await printOne(call, {
    columns: [
      { head: 'KEY', field: 'number' },
      { head: 'FILE', field: 'file' },
    ],
    id: ({ number }) => String(number),
    item: { number, file: found.path },
  });
}

/**
 * Puts a file with one key more in the place of the key file, whole or not at all; its mode and its owner stay. The
 * name of the file that is written first is the lock: of two commands at once, the second would lose the key of the
 * first.
 */
async function appended(path: string, random: RandomSource): Promise<number> {
  const before = await stat(path);
  await access(path, constants.W_OK).catch((error: NodeJS.ErrnoException) => {
    throw notWritable(path, error);
  });
  const next = join(dirname(path), `.${basename(path)}.next`);
  const file = await open(next, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw notWritable(path, error);
    throw new CommandFault(
      `${next} is there: another \`muster keys add\` is at work, or was interrupted; then remove it.`,
    );
  });
  try {
    const number = await written(file, path, random, before);
    await rename(next, path);
    await synced(dirname(path));
    return number;
  } catch (error) {
    await rm(next, { force: true });
    const { code } = error as NodeJS.ErrnoException;
    throw code === undefined ? error : notWritable(path, error as NodeJS.ErrnoException);
  }
}

/** Writes the new file and closes it. */
async function written(file: FileHandle, path: string, random: RandomSource, before: Stats): Promise<number> {
  await using _ = file;
  const { number, text } = addedKey(await readFile(path, 'utf8'), random);
  await file.writeFile(text);
  await keepOwner(file, before);
  await file.sync();
  return number;
}

async function keepOwner(file: FileHandle, { mode, uid, gid }: Stats): Promise<void> {
  const own = await file.stat();
  if (own.uid !== uid || own.gid !== gid) await file.chown(uid, gid);
  await file.chmod(mode & 0o777);
}

async function synced(directory: string): Promise<void> {
  const opened = await open(directory, 'r');
  try {
    await opened.sync();
  } finally {
    await opened.close();
  }
}

const notWritable = (path: string, { code = 'unknown' }: NodeJS.ErrnoException): CommandFault =>
  new CommandFault(`${path} cannot be written (${fileTrouble(code)}): add the line where the file comes from.`);
