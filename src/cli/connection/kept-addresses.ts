import { lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import * as z from 'zod';
import { ConfigError } from '../../config/files/config-error.ts';
import { plantedByOthers } from '../../config/files/trusted-file.ts';
import { writeNewFile } from '../../service/files/new-file.ts';
import { boundedText, isServiceUrl } from './context-file.ts';
import { isLoopback, type Urls } from './service-urls.ts';

/*
 * The addresses of the service that `muster dev` runs, in a file beside its data while it runs: its ports may be others
 * than the variables of another terminal say. Whoever writes this file chooses where secrets are sent, so it is
 * believed only about this machine, and only where it is this user's own. Whoever takes a port that became free would
 * be sent them as well: so it is believed only while the process runs that wrote it, which may have been killed and
 * left it there.
 */

/** The name of the file in the data directory. */
export const ADDRESSES_FILE = 'demo-addresses.json';
const FILE_BYTES_MAX = 4096;
const URL_CHARACTERS_MAX = 256;
const PID_MAX = 0x7fff_ffff;
const BEGAN_CHARACTERS_MAX = 64;

const url = z.string().max(URL_CHARACTERS_MAX).refine(isOfThisMachine, 'must be http://127.0.0.1:PORT');
const schema = z.strictObject({
  version: z.literal(1),
  api: url.optional(),
  device: url.optional(),
  ops: url.optional(),
  pid: z.int().positive().max(PID_MAX),
  began: z.string().max(BEGAN_CHARACTERS_MAX).optional(),
});

function isOfThisMachine(text: string): boolean {
  return isServiceUrl(text) && isLoopback(new URL(text).hostname);
}

/**
 * Keeps the addresses of this process for other terminals; one that is not of this machine alone is left out.
 * @returns the path of the file
 * @throws the system's error
 */
export async function keepAddresses(dataDir: string, urls: Urls): Promise<string> {
  const path = join(dataDir, ADDRESSES_FILE);
  const known = Object.entries(urls).filter(([, text]) => isOfThisMachine(text as string));
  const text = `${JSON.stringify({ version: 1, ...Object.fromEntries(known), ...thisProcess() }, undefined, 2)}\n`;
  await writeNewFile(path, { replace: true }, (put) => put(text));
  return path;
}

interface KeptAddress {
  readonly url: string;
  readonly from: string;
  /** Whether the address is kept still, by a process that runs. */
  readonly isThere: () => boolean;
}

/**
 * The address of a listener in the file of a data directory; undefined where none is kept, or the process that kept it
 * is gone.
 * @throws ConfigError that names the file and the rule
 */
export function keptAddress(plane: keyof Urls, path: string): KeptAddress | undefined {
  const address = addressIn(path, plane);
  if (address === undefined) return undefined;
  const isThere = (): boolean => {
    try {
      return addressIn(path, plane) === address;
    } catch {
      return false;
    }
  };
  return { url: address.replace(/\/+$/, ''), from: `${path}, which \`muster dev\` wrote`, isThere };
}

function addressIn(path: string, plane: keyof Urls): string | undefined {
  const text = isFile(path) ? ownText(path) : undefined;
  if (text === undefined) return undefined;
  const { success, data, error } = schema.safeParse(parsedJson(text));
  if (!success) {
    const [issue] = error.issues;
    const rule = [...(issue?.path ?? []), issue?.message].join(': ');
    throw new ConfigError(`${path}: ${rule}; remove it, \`muster dev\` writes it anew`);
  }
  return isRunning(data) ? data[plane] : undefined;
}

/** A folder that this user may not look into keeps nothing for it. */
function isFile(path: string): boolean {
  try {
    return lstatSync(path).isFile();
  } catch {
    return false;
  }
}

function ownText(path: string): string | undefined {
  const why = plantedByOthers(path);
  if (why !== undefined) throw new ConfigError(why);
  return boundedText(path, FILE_BYTES_MAX);
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** The marks of a process that no other one of this machine has, not even a later one with its number. */
interface ProcessIdentity {
  readonly pid: number;
  /** The instant of its start, as only this start of this machine says it; undefined where the system does not tell. */
  readonly began?: string | undefined;
}

function thisProcess(): ProcessIdentity {
  const began = beginOf(process.pid);
  return { pid: process.pid, ...(began !== undefined && { began }) };
}

/** Whether that very process still runs: one of another user or container is none that this one knows. */
function isRunning({ pid, began }: ProcessIdentity): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return beginOf(pid) === began;
}

/** The state and the instant of the begin among the fields of `/proc/PID/stat` that follow the name. */
const [STATE, BEGIN] = [0, 19] as const;

/** Undefined where the system has no `/proc`, and of a process that has ended and was not yet waited for. */
function beginOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name is in brackets, and may have any character.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[STATE] === 'Z' || fields[STATE] === 'X') return undefined;
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${fields[BEGIN] ?? ''}`;
  } catch {
    return undefined;
  }
}
