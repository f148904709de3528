import { lstat, realpath, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { MusterError } from '#client';
import { apiKeyId } from '../../../domain/credentials/tokens.ts';
import { generateMarker, systemRandom } from '../../../domain/credentials/random-ids.ts';
import { ownerOf, requestOf } from '../../connection/clients.ts';
import { connectionTo } from '../../connection/connection.ts';
import { endBulk, isRefusedAsAWhole, type Failure } from '../../output/bulk.ts';
import { printList } from '../../output/print.ts';
import { sideBySide } from '../../output/side-by-side.ts';
import { CommandFault, EXIT, requireWholeStdout } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { createProgress } from '../../terminal/progress.ts';
import { shellWord } from '../../../text/shell-words.ts';
import { onInterruption } from '../../terminal/signals.ts';
import { CodesFile } from './codes-file.ts';
import { idOf, SAVED_COLUMNS, type SavedApp } from './columns.ts';
import { keyOf, readPlan, refuseOld, removePlan, writePlan, type Plan } from './resume-file.ts';
import { lockBeside } from './resume-lock.ts';

/**
 * Creates many apps, and saves their codes.
 * @param codesPath a new file
 * @throws CommandFault where one failed, or the command was stopped: the resume file stays then. Before anything is
 * created: CommandFault with exit code 2, ConfigError, the system's error
 */
export async function createMany(call: Invocation, names: readonly string[], codesPath: string): Promise<void> {
  await ended(call, await begun(call, names, codesPath));
}

async function begun(call: Invocation, names: readonly string[], codesPath: string): Promise<Outcome> {
  // Before the first file is made: somebody who stops the command is told of what stays.
  using interruption = onInterruption(new CommandFault('interrupted'));
  const codes = resolve(codesPath);
  const path = `${codes}.resume`;
  if (await isThere(codes)) {
    throw new CommandFault(`${codesPath} is there already: name a new file, none is overwritten.`, EXIT.usage);
  }
  const key = `muster-${generateMarker(systemRandom())}`;
  const plan: Plan = { startedAt: call.clock.now(), keyId: keyIdOf(call), codes, key, names: [...names] };
  await using _ = await lockBeside(path);
  await writePlan(path, plan);
  let file: CodesFile;
  try {
    file = await CodesFile.create(codes);
  } catch (error) {
    await removePlan(path);
    throw error;
  }
  await using made = file;
  return await carriedOut(call, plan, path, made, { isFirst: true, signal: interruption.signal });
}

/**
 * Goes on with a bulk create that ended in any way, without a duplicate and without a lost code.
 * @throws CommandFault as `createMany`
 */
export async function resumeMany(call: Invocation, resumePath: string): Promise<void> {
  await ended(call, await resumed(call, resumePath));
}

async function resumed(call: Invocation, resumePath: string): Promise<Outcome> {
  // By one path alone, or two locks would lie beside two links.
  const path = await realpath(resumePath).catch(() => resolve(resumePath));
  // What is no plan is told before a lock is put beside it.
  await readPlan(path);
  using interruption = onInterruption(new CommandFault('interrupted'));
  const { signal } = interruption;
  await using _ = await lockBeside(path);
  const plan = await readPlan(path);
  refuseOld(plan, call.clock.now());
  await using file = await CodesFile.resume(plan.codes, plan.names);
  if (plan.keyId !== keyIdOf(call)) await refuseOtherAccount(call, plan, file, { path: resumePath, signal });
  return await carriedOut(call, plan, path, file, { isFirst: false, signal });
}

/**
 * The service keeps its answers by the account, whose id no answer to an owner has; but an account that has one of the
 * apps is the one that they were created in.
 */
async function refuseOtherAccount(
  call: Invocation,
  { keyId }: Plan,
  file: CodesFile,
  { path, signal }: { readonly path: string; readonly signal: AbortSignal },
): Promise<void> {
  const listed = ownerOf(call).listApps({ ...requestOf(call), signal });
  const { apps } = await listed.catch((error: unknown) => {
    signal.throwIfAborted();
    throw error;
  });
  const there = new Set(apps.map(({ appId }) => appId));
  if (file.apps.some(({ appId }) => there.has(appId))) return;
  throw new CommandFault(
    `${path}: the creates began with the API key ${keyId}, and another one is set. Nothing shows that it is of the same ` +
      'account, since it lists no app of the file of codes: in another account, all would be created anew. Set the key of ' +
      'then. If it is revoked, compare `muster apps list` with the file of codes, and create the rest anew.',
    EXIT.usage,
  );
}

const keyIdOf = (call: Invocation): string => apiKeyId(connectionTo('api', call).token.reveal()) ?? '';

const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

/** What came of the creates. */
interface Outcome {
  readonly apps: readonly SavedApp[];
  readonly failures: readonly Failure[];
  /** Says that somebody has stopped the command. */
  readonly interrupted?: string;
}

interface Attempt {
  /** Nothing was tried before: where nothing is carried out now, the same command can be tried again. */
  readonly isFirst: boolean;
  readonly signal: AbortSignal;
}

const INVALID_NAME = 'invalid_name';
/** A resume file for such names alone would never come to its end. */
const isRefusedEachTime = ({ error }: Failure): boolean => error instanceof MusterError && error.code === INVALID_NAME;
const REFUSED_EACH_TIME = 'The service refuses what failed each time: correct it, and create it anew.';

async function carriedOut(
  call: Invocation,
  plan: Plan,
  path: string,
  codes: CodesFile,
  { isFirst, signal }: Attempt,
): Promise<Outcome> {
  const goOn = `Go on with: muster apps create --resume ${shellWord(path)}`;
  const failures = await created(call, plan, codes, signal).catch((error: unknown) => {
    call.say(goOn);
    throw error;
  });
  const isUntouched = isFirst && codes.size === 0 && isRefusedAsAWhole(failures);
  if (isUntouched) await rm(plan.codes, { force: true });
  else call.say(`The codes are in ${plan.codes}.`);
  const isFinal = failures.every((failure) => isRefusedEachTime(failure));
  if (isUntouched || isFinal) await removePlan(path);
  else call.say(goOn);
  if (isFinal && failures.length > 0) call.say(REFUSED_EACH_TIME);
  const { apps } = codes;
  if (!signal.aborted) return { apps, failures };
  return { apps, failures, interrupted: `interrupted: ${apps.length} of ${plan.names.length} apps created` };
}

/** A reader of stdout that stops early ends the process in the middle of this: what must be done by then is done before. */
async function ended(call: Invocation, { apps, failures, interrupted }: Outcome): Promise<void> {
  const print = (): Promise<number> => printList(call, { columns: SAVED_COLUMNS, id: idOf, items: apps });
  if (interrupted === undefined) {
    return await endBulk(call, { what: 'apps created', done: apps.length, failures }, print);
  }
  requireWholeStdout(interrupted);
  await print();
  throw new CommandFault(interrupted);
}

async function created(call: Invocation, plan: Plan, codes: CodesFile, signal: AbortSignal): Promise<Failure[]> {
  // One client for all of them: it keeps the pace of the account.
  const owner = ownerOf(call, { patient: true });
  const { requestId, quiet } = call.globals;
  using progress = createProgress('apps', { quiet });
  progress.total(plan.names.length);
  progress.at(codes.size);
  return await sideBySide({
    items: plan.names.map((name, at) => ({ name, number: at + 1 })).filter(({ number }) => !codes.has(number)),
    what: ({ name }) => name,
    ofOneAlone: [INVALID_NAME],
    async work({ name, number }) {
      refuseOld(plan, call.clock.now());
      const app = await owner.createApp({ name }, { idempotencyKey: keyOf(plan, number), requestId, signal });
      await codes.add(number, app);
      progress.at(codes.size);
    },
  });
}
