import { rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import process from 'node:process';
import * as z from 'zod';
import { generateMarker, systemRandom } from '../../../domain/credentials/random-ids.ts';
import { writeNewFile } from '../../../service/files/new-file.ts';
import { boundedText } from '../../connection/context-file.ts';
import { CommandFault } from '../../terminal/exit.ts';

/*
 * Tells who works on the creates of a resume file: two at once would cut each other's rows out of the file of codes,
 * and the first to end would take the resume file from the other.
 */

const schema = z.strictObject({
  pid: z.number().int().positive(),
  /** The number of a process says nothing on another machine, or in another container. */
  host: z.string().max(255),
  token: z.string().regex(/^[0-9a-f]{32}$/),
});
type Holder = z.output<typeof schema>;

const FILE_BYTES_MAX = 1024;

/** The locks of this process; another one with its number has ended before it began, as in a container. */
const held = new Set<string>();

/**
 * Takes the lock beside a resume file. One whose process has ended is taken over.
 * @throws CommandFault where another command has it; the system's error
 */
export async function lockBeside(plan: string): Promise<AsyncDisposable> {
  const path = `${plan}.lock`;
  const token = generateMarker(systemRandom());
  const mine = `${JSON.stringify({ pid: process.pid, host: hostname(), token } satisfies Holder)}\n`;
  held.add(token);
  try {
    if (!(await putNew(path, mine))) await takeOver(path, mine);
  } catch (error) {
    held.delete(token);
    throw error;
  }
  return {
    async [Symbol.asyncDispose]() {
      // Somebody may have removed it by hand, and another command have its own there.
      if (holderIn(path)?.token === token) await rm(path, { force: true });
      held.delete(token);
    },
  };
}

async function takeOver(path: string, mine: string): Promise<void> {
  const other = holderIn(path);
  if (!other || isRunning(other)) throw taken(path, other);
  // One of many that find the same dead process makes this file; nobody else replaces the lock meanwhile.
  const claim = `${path}.${other.token}`;
  if (!(await putNew(claim, mine))) throw taken(claim, holderIn(claim));
  try {
    if (holderIn(path)?.token !== other.token) throw taken(path, holderIn(path));
    await writeNewFile(path, { replace: true }, (put) => put(mine));
  } finally {
    await rm(claim, { force: true });
  }
}

/** @returns whether the name was free */
async function putNew(path: string, text: string): Promise<boolean> {
  try {
    await writeNewFile(path, { replace: false }, (put) => put(text));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Undefined where there is no lock, or something else. */
function holderIn(path: string): Holder | undefined {
  const text = boundedText(path, FILE_BYTES_MAX);
  try {
    return text === undefined ? undefined : schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

function isRunning({ pid, host, token }: Holder): boolean {
  if (host !== hostname()) return true;
  if (pid === process.pid) return held.has(token);
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

function taken(path: string, holder: Holder | undefined): CommandFault {
  const who = holder ? ` (process ${holder.pid} on ${holder.host})` : '';
  return new CommandFault(
    `Another command works on these creates${who}: wait for its end. If there is none, remove ${path}.`,
  );
}
