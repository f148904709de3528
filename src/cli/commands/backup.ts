import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import process from 'node:process';
import { readBackup } from '../../domain/backup/file-format.ts';
import { writeNewFile } from '../../service/files/new-file.ts';
import { CommandFault, EXIT, requireWholeStdout, say } from '../terminal/exit.ts';
import { createProgress } from '../terminal/progress.ts';
import { connectionOf } from '../terminal/service-address.ts';
import { ServiceClient } from '../terminal/service-client.ts';
import { onInterruption } from '../terminal/signals.ts';

/**
 * `muster backup FILE`: asks the running service for a snapshot, checks it while it arrives, and writes it.
 * @throws CommandFault, ConfigError; BadBackup when the snapshot is damaged
 */
export async function backup(env: NodeJS.ProcessEnv, path: string, { force }: { force: boolean }): Promise<void> {
  const client = new ServiceClient(connectionOf(env));
  const toStdout = path === '-';
  if (toStdout) requireWholeStdout();
  if (toStdout && process.stdout.isTTY) {
    throw new CommandFault('A backup is nothing to be read on a terminal: name a file, or redirect it.', EXIT.usage);
  }
  if (!toStdout) refuseTaken(path, force);
  using interruption = onInterruption(new CommandFault('interrupted: nothing was written.'));
  const receive = (put: Put): Promise<void> => received(client, put, interruption.signal);
  if (toStdout) await receive(putStdout);
  else await written(path, force, receive);
}

/** A device or a directory is never replaced. */
function refuseTaken(path: string, force: boolean): void {
  const there = statSync(path, { throwIfNoEntry: false });
  if (there && !there.isFile()) throw new CommandFault(`${path} is no file: name one, or - for stdout.`, EXIT.usage);
  if (there && !force) throw isThere(path);
}

async function written(path: string, force: boolean, receive: (put: Put) => Promise<void>): Promise<void> {
  try {
    await writeNewFile(path, { replace: force }, receive);
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'EEXIST' ? isThere(path) : error;
  }
}

const isThere = (path: string): CommandFault =>
  new CommandFault(`${path} is there already: choose another name, or replace it with --force.`, EXIT.usage);

type Put = (bytes: Uint8Array) => Promise<void>;

async function putStdout(bytes: Uint8Array): Promise<void> {
  if (!process.stdout.write(bytes)) await once(process.stdout, 'drain');
}

async function received(client: ServiceClient, put: Put, signal: AbortSignal): Promise<void> {
  using progress = createProgress('entries');
  const path = progress.shown ? '/operator/v1/backup?count=true' : '/operator/v1/backup';
  const hash = createHash('sha256');
  const bytes = passedOn(client.stream(path, { signal }), async (chunk) => {
    hash.update(chunk);
    await put(chunk);
  });
  let entries = 0;
  let revision = 0;
  let key: number | undefined;
  for await (const piece of readBackup(bytes)) {
    if ('header' in piece) {
      ({ revision } = piece.header);
      key = piece.header.key?.number;
      progress.total(piece.header.entries ?? 0);
    } else if ('entry' in piece) progress.at((entries += 1));
  }
  progress[Symbol.dispose]();
  say(
    `Backed up ${entries} entries as of revision ${revision}, ${key === undefined ? 'unsigned' : `signed under key ${key}`}.`,
  );
  say(`SHA-256: ${hash.digest('hex')}`);
}

async function* passedOn(bytes: AsyncIterable<Uint8Array>, put: Put): AsyncGenerator<Uint8Array, void> {
  for await (const chunk of bytes) {
    await put(chunk);
    yield chunk;
  }
}
