import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import process from 'node:process';
import { readBackup } from '../../../domain/backup/file-format.ts';
import { writeNewFile } from '../../../service/files/new-file.ts';
import { operatorOf, requestOf } from '../../connection/clients.ts';
import type { Column } from '../../output/columns.ts';
import { printOne } from '../../output/print.ts';
import { CommandFault, EXIT, requireWholeStdout } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { createProgress } from '../../terminal/progress.ts';
import { onInterruption } from '../../terminal/signals.ts';

interface Created {
  readonly file: string;
  readonly at: string;
  readonly entries: number;
  readonly revision: number;
  /** The number of the key that signs the backup. */
  readonly key: number;
  readonly sha256: string;
}

const COLUMNS: readonly Column<Created>[] = [
  { head: 'FILE', field: 'file' },
  { head: 'AT', field: 'at', kind: 'time' },
  { head: 'ENTRIES', field: 'entries' },
  { head: 'REVISION', field: 'revision' },
  { head: 'KEY', field: 'key' },
  { head: 'SHA-256', field: 'sha256' },
];

/**
 * `muster backup create FILE`: asks the running service for a snapshot, checks it while it arrives, and writes it.
 * @throws CommandFault, ConfigError, MusterError; BadBackup when the snapshot is damaged
 */
export async function createBackup(
  call: Invocation,
  path: string,
  { force }: { readonly force: boolean },
): Promise<void> {
  const toStdout = path === '-';
  if (toStdout && call.globals.output !== 'table') {
    throw new CommandFault('With -, stdout is the backup itself: name a file, or leave -o out.', EXIT.usage);
  }
  if (toStdout) requireWholeStdout();
  if (toStdout && process.stdout.isTTY) {
    throw new CommandFault('A backup is nothing to be read on a terminal: name a file, or redirect it.', EXIT.usage);
  }
  if (!toStdout) refuseTaken(path, force);
  using interruption = onInterruption(new CommandFault('interrupted: nothing was written.'));
  const receive = async (put: Put): Promise<Received> => await received(call, put, interruption.signal);
  if (toStdout) {
    const { words, sha256 } = await receive(putStdout);
    return call.say(`${words}\nSHA-256: ${sha256}`);
  }
  // A file that the disk has no room for, or whose name is taken by now, is no backup.
  const { words, ...item } = await written(path, force, receive);
  call.say(words);
  await printOne<Created>(call, { columns: COLUMNS, id: ({ sha256 }) => sha256, item: { file: path, ...item } });
}

/** A device or a directory is never replaced. */
function refuseTaken(path: string, force: boolean): void {
  const there = statSync(path, { throwIfNoEntry: false });
  if (there && !there.isFile()) throw new CommandFault(`${path} is no file: name one, or - for stdout.`, EXIT.usage);
  if (there && !force) throw isThere(path);
}

async function written(path: string, force: boolean, receive: (put: Put) => Promise<Received>): Promise<Received> {
  let received: Received | undefined;
  try {
    await writeNewFile(path, { replace: force }, async (put) => void (received = await receive(put)));
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'EEXIST' ? isThere(path) : error;
  }
  if (!received) throw new Error('the file is there, and nothing was received');
  return received;
}

const isThere = (path: string): CommandFault =>
  new CommandFault(`${path} is there already: choose another name, or replace it with --force.`, EXIT.usage);

type Put = (bytes: Uint8Array) => Promise<void>;

async function putStdout(bytes: Uint8Array): Promise<void> {
  if (!process.stdout.write(bytes)) await once(process.stdout, 'drain');
}

interface Received extends Omit<Created, 'file'> {
  /** The same for people, but for the sum. */
  readonly words: string;
}

async function received(call: Invocation, put: Put, signal: AbortSignal): Promise<Received> {
  using progress = createProgress('entries', { quiet: call.globals.quiet });
  const hash = createHash('sha256');
  const bytes = passedOn(streamOf(call, { count: progress.shown, signal }), async (chunk) => {
    hash.update(chunk);
    await put(chunk);
  });
  let entries = 0;
  let [at, revision, key] = ['', 0, 0];
  for await (const piece of readBackup(bytes)) {
    if ('header' in piece) {
      ({ at, revision } = piece.header);
      key = piece.header.key.number;
      progress.total(piece.header.entries ?? 0);
    } else if ('entry' in piece) progress.at((entries += 1));
  }
  progress[Symbol.dispose]();
  const words = `Backed up ${entries} entries as of revision ${revision}, signed under key ${key}.`;
  return { words, at, entries, revision, key, sha256: hash.digest('hex') };
}

async function* streamOf(
  call: Invocation,
  { count, signal }: { readonly count: boolean; readonly signal: AbortSignal },
): AsyncGenerator<Uint8Array, void> {
  try {
    const { body } = await operatorOf(call).readBackup({ count: count || undefined }, { ...requestOf(call), signal });
    yield* body as AsyncIterable<Uint8Array>;
  } catch (error) {
    // The reason of the interruption says what became of the file.
    signal.throwIfAborted();
    throw error;
  }
}

async function* passedOn(bytes: AsyncIterable<Uint8Array>, put: Put): AsyncGenerator<Uint8Array, void> {
  for await (const chunk of bytes) {
    await put(chunk);
    yield chunk;
  }
}
