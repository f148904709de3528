import { rm } from 'node:fs/promises';
import * as z from 'zod';
import { newSecretFile } from '../../terminal/secret-file.ts';
import { CommandFault, EXIT } from '../../terminal/exit.ts';
import { inputOf } from '../../terminal/input.ts';
import { NAMES_MAX } from './names.ts';

/*
 * What a bulk create needs to go on after it ended in any way. It is written once, whole, before the first create, and
 * never changed: how far the work has come is in the file of codes. Each create has an Idempotency-Key of its own, so that
 * one that was carried out is answered again, its code included, and never carried out twice.
 */

const schema = z.strictObject({
  version: z.literal(1),
  /** Milliseconds since 1970. */
  startedAt: z.number().int().nonnegative(),
  /** The id of the API key, which is no secret: with the key of another account, every app would be created anew. */
  keyId: z.string().min(1).max(100),
  /** The file of codes, as an absolute path. */
  codes: z.string().min(1).max(4096),
  /** What the Idempotency-Keys begin with. */
  key: z.string().regex(/^[\w-]{16,64}$/),
  names: z.array(z.string()).min(1).max(NAMES_MAX),
});

/** A bulk create. */
export type Plan = Omit<z.output<typeof schema>, 'version'>;

/** A name may be escaped to six times its length. */
const FILE_BYTES_MAX = 8_388_608;
/** The service keeps its answers for 24 hours; a quarter of an hour is left for the last create. */
const KEPT_MS = (24 * 60 - 15) * 60_000;

/** @param number of the app in the plan, from 1. @returns its Idempotency-Key */
export const keyOf = ({ key }: Plan, number: number): string => `${key}-${number}`;

/** @throws CommandFault with exit code 2 where the name is taken; the system's error */
export const writePlan = (path: string, plan: Plan): Promise<void> =>
  newSecretFile(path, `${JSON.stringify({ version: 1, ...plan })}\n`);

/** @throws CommandFault with exit code 2 where there is none, or it is something else */
export async function readPlan(path: string): Promise<Plan> {
  const text = await inputOf(path, FILE_BYTES_MAX);
  const parsed = schema.safeParse(jsonOf(text));
  if (!parsed.success) throw new CommandFault(`${path}: this is no resume file of \`apps create\``, EXIT.usage);
  const { version: _version, ...plan } = parsed.data;
  return plan;
}

export const removePlan = (path: string): Promise<void> => rm(path, { force: true });

/** @param now milliseconds since 1970. @throws CommandFault where the service may have forgotten the first answers */
export function refuseOld({ startedAt }: Plan, now: number): void {
  if (now - startedAt < KEPT_MS) return;
  throw new CommandFault(
    'The creates began a day ago, and the service forgets its answers then: what is missing may be there without its ' +
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
