import { closeSync, lstatSync, openSync, readSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import * as z from 'zod';
import { ConfigError } from '../../config/files/config-error.ts';
import { writableByOthers } from '../../config/files/trusted-file.ts';
import { makeDirectories } from '../../service/files/directories.ts';
import { writeNewFile } from '../../service/files/new-file.ts';
import type { Environment } from '../terminal/terminal.ts';

/*
 * The file of contexts: named services, each with its addresses and with the paths of the files that hold its secrets.
 * A secret itself is never in it.
 */

/** A hundred contexts with long paths are smaller. */
const FILE_BYTES_MAX = 1_048_576;
const CONTEXTS_MAX = 100;
const URL_CHARACTERS_MAX = 2048;
const PATH_CHARACTERS_MAX = 4096;

const url = z.string().max(URL_CHARACTERS_MAX).refine(isServiceUrl, 'must be http://HOST:PORT or https://HOST:PORT');
const path = z
  .string()
  .min(1)
  .max(PATH_CHARACTERS_MAX)
  .refine((text) => isAbsolute(text) && !text.includes('\0'), 'must be an absolute path');

const contextSchema = z
  .strictObject({ url, opsUrl: url, deviceUrl: url, apiKeyFile: path, operatorTokenFile: path, caFile: path })
  .partial();

const name = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, 'must be 1 to 63 letters, digits, ., _ and -');

const fileSchema = z.strictObject({
  version: z.literal(1),
  current: name.optional(),
  contexts: z
    .record(name, contextSchema)
    .refine((contexts) => Object.keys(contexts).length <= CONTEXTS_MAX, `must be at most ${CONTEXTS_MAX}`),
});

/** One service by name; a path is absolute. */
export type Context = z.output<typeof contextSchema>;

export interface Contexts {
  readonly current: string | undefined;
  readonly named: ReadonlyMap<string, Context>;
}

/** Whether a text is the address of a listener: no user, password, query or fragment, which could hold a secret. */
export function isServiceUrl(text: string): boolean {
  const parsed = URL.canParse(text) ? new URL(text) : undefined;
  if (!parsed || !/^https?:$/.test(parsed.protocol)) return false;
  return !parsed.username && !parsed.password && !parsed.search && !parsed.hash;
}

/** `$XDG_CONFIG_HOME/muster/config.json`, or in `~/.config`; undefined where the environment names no home. */
function contextPath(env: Environment): string | undefined {
  const { XDG_CONFIG_HOME: config = '', HOME: home = '' } = env;
  // The XDG Base Directory Specification: a relative path is invalid, and is ignored.
  if (isAbsolute(config)) return join(config, 'muster', 'config.json');
  return isAbsolute(home) ? join(home, '.config', 'muster', 'config.json') : undefined;
}

/**
 * A home that this user may not look into, as in a container that runs as somebody else, has no contexts.
 * @throws ConfigError that names the file and the rule; the system's error where the file is there and cannot be read
 */
export function readContexts(env: Environment): Contexts {
  const file = contextPath(env);
  const text = file === undefined || !isThere(file) ? undefined : boundedText(file);
  if (file === undefined || text === undefined) return { current: undefined, named: new Map() };
  // Whoever writes this file chooses where secrets are sent.
  const why = writableByOthers(file);
  if (why !== undefined) throw new ConfigError(why);
  const parsed = fileSchema.safeParse(parsedJson(file, text));
  if (!parsed.success) {
    throw new ConfigError(
      rulesOf(parsed.error)
        .map((rule) => `${file}: ${rule}`)
        .join('\n'),
    );
  }
  const { current, contexts } = parsed.data;
  return { current, named: new Map(Object.entries(contexts)) };
}

/**
 * Puts new contexts in the place of the old ones, whole or not at all. Of two commands at the same time the later one
 * wins.
 * @throws ConfigError where a rule is broken, or no home is known; the system's error
 */
export async function writeContexts(env: Environment, { current, named }: Contexts): Promise<void> {
  const file = contextPath(env);
  if (file === undefined) throw new ConfigError('HOME: set it, or XDG_CONFIG_HOME, to an absolute path');
  const content = { version: 1, ...(current !== undefined && { current }), contexts: Object.fromEntries(named) };
  const parsed = fileSchema.safeParse(content);
  if (!parsed.success) throw new ConfigError(rulesOf(parsed.error).join('\n'));
  const directory = dirname(file);
  makeDirectories(directory);
  await chmod(directory, 0o700);
  await writeNewFile(file, { replace: true }, (put) => put(`${JSON.stringify(content, undefined, 2)}\n`));
}

function isThere(file: string): boolean {
  try {
    lstatSync(file);
    return true;
  } catch {
    return false;
  }
}

/** The rules that are broken, each with the place in the file; never what stands there. */
const rulesOf = ({ issues }: z.ZodError): string[] =>
  issues.map((issue) => {
    const { message } = (issue.code === 'invalid_key' ? issue.issues[0] : undefined) ?? issue;
    return [issue.path.join('.'), message].filter((part) => part !== '').join(': ');
  });

function parsedJson(file: string, text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new ConfigError(`${file}: must be JSON`);
  }
}

/**
 * The text of a file, or of a pipe that a shell has made, of at most so many bytes; undefined where there is none.
 * @throws ConfigError; the system's error where it cannot be read
 */
export function boundedText(file: string, bytesMax = FILE_BYTES_MAX): string | undefined {
  let opened: number;
  try {
    opened = openSync(file, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    // One byte above the bound tells that there are more.
    const bytes = Buffer.alloc(bytesMax + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read) {
      read = readSync(opened, bytes, length, bytes.length - length, null);
    }
    if (length > bytesMax) throw new ConfigError(`${file}: must have at most ${bytesMax} bytes`);
    return bytes.toString('utf8', 0, length);
  } finally {
    closeSync(opened);
  }
}
