import { resolve } from 'node:path';
import * as z from 'zod';
import { DURATION_FORMS, durationWithin } from '../time/duration.ts';
import { ConfigError } from './files/config-error.ts';

/* Rules that several variables have. The message of a rule is also its text in docs/CONFIGURATION.md. */

declare module 'zod' {
  interface GlobalMeta {
    /** The effect, in words, when a variable without a default is not set. */
    unset?: string;
    /** The value opens something: it is never shown. */
    secret?: true;
  }
}

export const integer = (min: number, max: number): z.ZodPipe<z.ZodString, z.ZodTransform<number, string>> =>
  z.string().transform((value, ctx) => {
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
    if (number >= min && number <= max) return number;
    ctx.addIssue(`must be a whole number from ${min} to ${max}`);
    return z.NEVER;
  });

/** A duration with its unit; milliseconds. @param min such as `5m` @param max such as `30d` */
export const duration = (min: string, max: string): z.ZodPipe<z.ZodString, z.ZodTransform<number, string>> =>
  z.string().transform((value, ctx) => {
    const ms = durationWithin(value, min, max);
    if (ms !== undefined) return ms;
    ctx.addIssue(`must be a duration from ${min} to ${max}, such as ${DURATION_FORMS}`);
    return z.NEVER;
  });

/** The seconds that a connection stays open without a request. A stranger's, which is told 5, is never kept longer. */
export const idleSeconds = integer(5, 604_800);

/** Longer than the 60 s for which most clients and load balancers keep a connection. */
export const IDLE_SECONDS = 65;
/** Longer than the proxies keep one that have no setting for it: 600 s at Google's load balancers. */
export const IDLE_BEHIND_PROXIES_SECONDS = 620;
/** The idle time of a listener that none is set for. */
export const IDLE_UNSET = `\`${IDLE_SECONDS}\`, and \`${IDLE_BEHIND_PROXIES_SECONDS}\` with \`MUSTER_TRUSTED_PROXIES\``;

export const file = z.string().min(1, 'must be the path of a file');

export const words = (max: number): z.ZodString => {
  const rule = `must have 1 to ${max} characters`;
  return z.string().min(1, rule).max(max, rule);
};

/**
 * Forms of a path that mean something to SQLite, to a shell or to another program's settings. SQLite keeps a `:memory:`
 * store nowhere, and opens a `file:` URI by the options in it, past the mode, the lock and the watch of the file;
 * anything else would be a file or a directory of that very name, where nobody looks for the data.
 */
const NO_PATHS: readonly (readonly [form: RegExp, fault: string])[] = [
  [/^\s*$/, 'must be a path'],
  [/\p{Cc}/u, 'must be a path without control characters'],
  [/^\s|\s$/, 'must be a path without blanks around it'],
  [/^["'`]/, 'must be a path without quotation marks around it'],
  [/^:memory:/i, 'must be a path: `:memory:` loses everything at a restart; write /PATH in its place'],
  [/^[A-Za-z][A-Za-z0-9+.-]+:/, 'must be a path, not a URI: write /PATH without `file:`'],
  [/\?/, 'must be a path without options: leave out the `?` and what follows'],
  [/^~/, 'must be a path from / on: `~` is not replaced here; write the home directory itself'],
  [/(?:^|\/)\$[A-Za-z_]|\$[{(]/, 'must be a path from / on: variables are not replaced here; write their values'],
  [/^\/\//, 'must be a path with a single slash at its beginning'],
];

/** @returns the rule that the text breaks; undefined for a path */
const pathFault = (text: string): string | undefined => NO_PATHS.find(([form]) => form.test(text))?.[1];

/** The whole path of a directory that is written to. */
export const directory = z.string().transform((text, ctx) => {
  const fault = pathFault(text);
  if (fault === undefined) return resolve(text);
  ctx.addIssue(fault);
  return z.NEVER;
});

/** The fault of the text as the path of a file that is made where there is none; undefined where it is one. */
export const newFileFault = (text: string): string | undefined =>
  pathFault(text) ??
  (/(?:^|\/)\.{0,2}$/.test(text) ? 'must be the path of a file: add its name, as in PATH/muster.db' : undefined);

/** `stdout`, or the whole path of a file that lines are appended to. */
export const output = z.string().transform((text, ctx) => {
  if (text === 'stdout') return { kind: 'stdout' } as const;
  const fault = newFileFault(text);
  if (fault === undefined) return { kind: 'file', path: resolve(text) } as const;
  ctx.addIssue(`${fault}, or \`stdout\``);
  return z.NEVER;
});

/** The data directory where MUSTER_DATA_DIR is not set. */
export const DATA_DIR = './.muster';

/** The whole path of the data directory, for whoever needs nothing else of the configuration. @throws ConfigError */
export function dataDirectoryOf(env: Readonly<Record<string, string | undefined>>): string {
  const { success, data, error } = directory.safeParse(env['MUSTER_DATA_DIR'] || DATA_DIR);
  if (success) return data;
  throw new ConfigError(`MUSTER_DATA_DIR: ${error.issues[0]?.message}`);
}
