import { rm } from 'node:fs/promises';
import * as z from 'zod';
import type { App } from '#client';
import { APP_ID } from '../../../api/contract/fields.ts';
import { shellWord } from '../../../text/shell-words.ts';
import { newSecretFile } from '../../terminal/secret-file.ts';
import { CommandFault, EXIT } from '../../terminal/exit.ts';
import { inputOf } from '../../terminal/input.ts';
import { NAMES_MAX } from './names.ts';

/*
 * A command over many codes needs this to go on after it ended in any way. It is written once, whole, before the first
 * request, and never changed: how far the work has come is in the file of codes. Each request has an Idempotency-Key of
 * its own, so that one that was carried out is answered again, its code included, and never carried out twice.
 */

const schema = z.strictObject({
  version: z.literal(1),
  /** Milliseconds since 1970. */
  startedAt: z.number().int().nonnegative(),
  /** The id of the API key, which is no secret: with the key of another account, every app would be created anew. */
  keyId: z.string().min(1).max(100),
  /** The file of codes, as an absolute path. */
  codes: z.string().min(1).max(4096),
  /** The beginning of the Idempotency-Keys. */
  key: z.string().regex(/^[\w-]{16,64}$/),
  names: z.array(z.string()).min(1).max(NAMES_MAX),
  /** The apps of these names, where they are there, and codes are issued for them. */
  appIds: z.array(z.string().regex(APP_ID)).max(NAMES_MAX).optional(),
  /** An app is created only where none has its name: `apps apply` began it. */
  byName: z.literal(true).optional(),
});

export type Plan = Omit<z.output<typeof schema>, 'version'>;

/** Names of apps to create, or apps to issue codes for. */
export type Things = readonly string[] | readonly Pick<App, 'appId' | 'name'>[];

export const planOf = (things: Things, common: Omit<Plan, 'names' | 'appIds'>): Plan => {
  const names = things.map((thing) => (typeof thing === 'string' ? thing : thing.name));
  const appIds = things.flatMap((thing) => (typeof thing === 'string' ? [] : thing.appId));
  return { ...common, names, ...(appIds.length > 0 && { appIds }) };
};

/** The command that a plan belongs to: `muster apps create` or `muster apps code`. */
export const workOf = ({ appIds }: Plan): 'create' | 'code' => (appIds ? 'code' : 'create');

/** The end of a message, which a person copies as it stands. */
export const goOnWith = (plan: Plan, path: string): string =>
  `Go on with: muster apps ${workOf(plan)} --resume ${shellWord(path)}`;

/** A name may be escaped to six times its length. */
const FILE_BYTES_MAX = 8_388_608;
/** The service keeps its answers for 24 hours; a quarter of an hour is left for the last create. */
const KEPT_MS = (24 * 60 - 15) * 60_000;

/** @param number of the app in the plan, from 1. @returns its Idempotency-Key */
export const keyOf = ({ key }: Plan, number: number): string => `${key}-${number}`;

/** @throws CommandFault with exit code 2 where the name is taken; the system's error */
export const writePlan = (path: string, plan: Plan): Promise<void> =>
  newSecretFile(path, `${JSON.stringify({ version: 1, ...plan })}\n`);

/** @returns undefined where the file is something else. @throws CommandFault with exit code 2 where there is none */
export async function planIn(path: string): Promise<Plan | undefined> {
  const text = await inputOf(path, FILE_BYTES_MAX);
  const { data } = schema.safeParse(jsonOf(text));
  if (!data || (data.appIds && data.appIds.length !== data.names.length)) return undefined;
  const { version: _version, ...plan } = data;
  return plan;
}

/** @throws CommandFault with exit code 2 where there is none, or it is something else */
export async function readPlan(path: string, work: ReturnType<typeof workOf>): Promise<Plan> {
  const plan = await planIn(path);
  if (!plan) throw new CommandFault(`${path}: this is no resume file of \`apps ${work}\``, EXIT.usage);
  if (workOf(plan) === work) return plan;
  throw new CommandFault(`${path}: go on with \`muster apps ${workOf(plan)} --resume\`, which began it.`, EXIT.usage);
}

export const removePlan = (path: string): Promise<void> => rm(path, { force: true });

/** @param now milliseconds since 1970. @throws CommandFault where the service may have forgotten the first answers */
export function refuseOld(plan: Plan, now: number): void {
  if (now - plan.startedAt < KEPT_MS) return;
  throw new CommandFault(
    workOf(plan) === 'code'
      ? 'The codes were begun a day ago, and the service forgets its answers then: issue those that the file of codes has ' +
          'not anew, by their ids.'
      : 'The creates began a day ago, and the service forgets its answers then: what is missing may be there without its ' +
          'code. Compare `muster apps list` with the file of codes, and create the rest anew.',
    EXIT.usage,
  );
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
