import { open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncDirectory, writeNewFile } from '../../service/files/new-file.ts';
import { CommandFault, EXIT, wordsOf } from './exit.ts';

/** A file that takes secrets one after the other, as they are made: each is on the disk when `append` resolves. */
interface SecretFile extends AsyncDisposable {
  append(text: string): Promise<void>;
}

/**
 * Writes a secret to a file that its owner alone can read; it is there whole or not at all.
 * @throws CommandFault with exit code 2 where the name is taken, whoever took it; the system's error otherwise
 */
export async function newSecretFile(path: string, text: string): Promise<void> {
  await writeNewFile(path, { replace: false }, (put) => put(text)).catch((error: unknown) => refuseTaken(path, error));
}

/**
 * Makes the file before the first secret is, so that none is lost for want of a place.
 * @throws CommandFault with exit code 2 where the name is taken; the system's error otherwise
 */
export async function openSecretFile(path: string): Promise<SecretFile> {
  const file = await open(path, 'wx', 0o600).catch((error: unknown) => refuseTaken(path, error));
  try {
    await syncDirectory(dirname(path));
  } catch (error) {
    await file.close();
    await rm(path, { force: true });
    throw error;
  }
  return {
    async append(text) {
      await file.writeFile(text);
      await file.sync();
    },
    [Symbol.asyncDispose]: () => file.close(),
  };
}

interface Saving<Made> {
  readonly secretOf: (made: Made) => string;
  /** Says that the thing is made, and what to do since its secret could not be saved: whole sentences. */
  readonly unsaved: (made: Made) => string;
}

/**
 * Makes a thing whose secret is shown once, which becomes the one line of a new file. Where it is not written, no file
 * stays, so that the same command can be tried again.
 * @throws CommandFault with exit code 2 where the name is taken, and 1 where the secret is made and not saved; whatever
 * `make` throws
 */
export async function savedSecret<Made>(
  path: string,
  make: () => Promise<Made>,
  { secretOf, unsaved }: Saving<Made>,
): Promise<Made> {
  await using file = await openSecretFile(path);
  const made = await make().catch(async (error: unknown) => {
    await rm(path, { force: true });
    throw error;
  });
  try {
    await file.append(`${secretOf(made)}\n`);
  } catch (error) {
    await rm(path, { force: true });
    throw new CommandFault(`${unsaved(made)} ${path}: ${wordsOf(error)}`);
  }
  return made;
}

function refuseTaken(path: string, error: unknown): never {
  if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  throw new CommandFault(`${path} is there already: name a new file, none is overwritten.`, EXIT.usage);
}
