import { lstat, realpath, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { MusterError, type App } from '#client';
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
import { onInterruption } from '../../terminal/signals.ts';
import { CodesFile } from './codes-file.ts';
import { idOf, ISSUED_COLUMNS, SAVED_COLUMNS, type SavedCode } from './columns.ts';
import { comparableName } from './names.ts';
import {
  goOnWith,
  keyOf,
  planIn,
  planOf,
  readPlan,
  refuseOld,
  removePlan,
  workOf,
  writePlan,
  type Plan,
  type Things,
} from './resume-file.ts';
import { lockBeside } from './resume-lock.ts';

/*
 * Many codes at once, each saved before it counts: those of apps that are created, and further ones of apps that are
 * there.
 */

/** The words of each kind, and the refusal that concerns one thing alone. */
const WORDS = {
  create: {
    done: 'apps created',
    ofOneAlone: 'invalid_name',
    refused: 'The service refuses what failed each time: correct it, and create it anew.',
  },
  code: {
    done: 'codes issued',
    ofOneAlone: 'not_found',
    refused: 'The service has no such apps any more: no code can be issued for them.',
  },
} as const;

/**
 * Creates many apps, or issues a code for each of many, and saves the codes.
 * @param codesPath a new file
 * @param byName whether a resumption creates no app whose name another one has by then
 * @throws CommandFault where one failed, or the command was stopped: the resume file stays then. Before anything is
 * done: CommandFault with exit code 2, ConfigError, the system's error
 */
export async function saveMany(
  call: Invocation,
  things: Things,
  codesPath: string,
  { byName = false } = {},
): Promise<void> {
  await ended(call, await begun(call, things, codesPath, byName));
}

/** Refuses a place for the codes that is taken, before anything is asked. @throws CommandFault with exit code 2 */
export async function refuseTakenPlace(codesPath: string): Promise<void> {
  if (!(await isThere(codesPath))) return;
  const path = `${resolve(codesPath)}.resume`;
  const plan = await planIn(path).catch(() => undefined);
  const left = plan ? ` A command that has not ended left ${path} beside it. ${goOnWith(plan, path)}` : '';
  throw new CommandFault(`${codesPath} is there already: name a new file, none is overwritten.${left}`, EXIT.usage);
}

const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

async function begun(call: Invocation, things: Things, codesPath: string, byName: boolean): Promise<Outcome> {
  // Before the first file is made: somebody who stops the command is told of what stays.
  using interruption = onInterruption(new CommandFault('interrupted'));
  const codes = resolve(codesPath);
  const path = `${codes}.resume`;
  await refuseTakenPlace(codesPath);
  const key = `muster-${generateMarker(systemRandom())}`;
  const common = { startedAt: call.clock.now(), keyId: keyIdOf(call), codes, key };
  const plan = planOf(things, { ...common, ...(byName && { byName }) });
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
  return await carriedOut(call, plan, path, made, { signal: interruption.signal });
}

/**
 * Goes on with many codes after an end of any kind, without a duplicate and without a lost code.
 * @throws CommandFault as `saveMany`
 */
export async function resumeMany(call: Invocation, work: keyof typeof WORDS, resumePath: string): Promise<void> {
  await ended(call, await resumed(call, work, resumePath));
}

async function resumed(call: Invocation, work: keyof typeof WORDS, resumePath: string): Promise<Outcome> {
  // The lock lies beside one path alone: otherwise two locks would lie beside two links.
  const path = await realpath(resumePath).catch(() => resolve(resumePath));
  // A file that is no plan is refused before a lock is put beside it.
  await readPlan(path, work);
  using interruption = onInterruption(new CommandFault('interrupted'));
  const { signal } = interruption;
  await using _ = await lockBeside(path);
  const plan = await readPlan(path, work);
  refuseOld(plan, call.clock.now());
  await using file = await CodesFile.resume(plan.codes, plan);
  // A 404 says something of an app only where this address has answered as the API does: other listeners have none at
  // all.
  const { apps } = await ownerOf(call)
    .listApps({ ...requestOf(call), signal })
    .catch((error: unknown) => {
      signal.throwIfAborted();
      call.say(goOnWith(plan, path));
      throw error;
    });
  if (plan.keyId !== keyIdOf(call)) refuseOtherAccount(plan, file, { path: resumePath, apps });
  return await carriedOut(call, plan, path, file, { apps, signal });
}

/**
 * The service keeps its answers by the account, whose id no answer to an owner has; but an account that has one of the
 * apps is the one with which the command began.
 */
function refuseOtherAccount(
  { keyId, appIds = [] }: Plan,
  file: CodesFile,
  { path, apps }: { readonly path: string; readonly apps: readonly App[] },
): void {
  const there = new Set(apps.map(({ appId }) => appId));
  if ([...appIds, ...file.apps.map(idOf)].some((appId) => there.has(appId))) return;
  throw new CommandFault(
    `${path}: the command began with the API key ${keyId}, and another one is set. Nothing shows that it is of the same ` +
      'account, since it lists no app of the file of codes: in another account, all would be created anew. Set the key of ' +
      'then. If it is revoked, compare `muster apps list` with the file of codes, and create the rest anew.',
    EXIT.usage,
  );
}

const keyIdOf = (call: Invocation): string => apiKeyId(connectionTo('api', call).token.reveal()) ?? '';

/** The end of a command over many codes. */
interface Outcome {
  readonly work: keyof typeof WORDS;
  readonly apps: readonly SavedCode[];
  readonly failures: readonly Failure[];
  /** Says that somebody has stopped the command. */
  readonly interrupted?: string;
}

interface Attempt {
  /**
   * The apps of the account, where something was tried before. Without them, where nothing is carried out now, the same
   * command can be tried again.
   */
  readonly apps?: readonly App[];
  readonly signal: AbortSignal;
}

async function carriedOut(
  call: Invocation,
  plan: Plan,
  path: string,
  codes: CodesFile,
  attempt: Attempt,
): Promise<Outcome> {
  const work = workOf(plan);
  const { done, ofOneAlone, refused } = WORDS[work];
  const goOn = goOnWith(plan, path);
  const failures = await saved(call, plan, codes, attempt).catch((error: unknown) => {
    call.say(goOn);
    throw error;
  });
  const isUntouched = !attempt.apps && codes.size === 0 && isRefusedAsAWhole(failures);
  if (isUntouched) await rm(plan.codes, { force: true });
  else call.say(`The codes are in ${plan.codes}.`);
  // A resume file for what is refused each time would never come to its end.
  const isFinal = failures.every(({ error }) => error instanceof MusterError && error.code === ofOneAlone);
  if (isUntouched || isFinal) await removePlan(path);
  else call.say(goOn);
  if (isFinal && failures.length > 0) call.say(refused);
  const { apps } = codes;
  if (!attempt.signal.aborted) return { work, apps, failures };
  return { work, apps, failures, interrupted: `interrupted: ${apps.length} of ${plan.names.length} ${done}` };
}

/**
 * A reader of stdout that stops early ends the process in the middle of this: what must be done by then is done before.
 */
async function ended(call: Invocation, { work, apps, failures, interrupted }: Outcome): Promise<void> {
  const print = (): Promise<number> => {
    if (work === 'code') return printList(call, { columns: ISSUED_COLUMNS, id: idOf, items: apps });
    const items = apps.map(({ enrollCodeExpiresAt, ...app }) => ({ ...app, status: 'pending', enrollCodeExpiresAt }));
    return printList(call, { columns: SAVED_COLUMNS, id: idOf, items });
  };
  if (interrupted === undefined) {
    return await endBulk(call, { what: WORDS[work].done, done: apps.length, failures }, print);
  }
  requireWholeStdout(interrupted);
  await print();
  throw new CommandFault(interrupted);
}

async function saved(call: Invocation, plan: Plan, codes: CodesFile, attempt: Attempt): Promise<Failure[]> {
  const { apps = [], signal } = attempt;
  // One that is there may be of a create whose answer was lost: a further code takes the place of that code.
  const there = new Map(plan.byName ? apps.map((app) => [comparableName(app.name), app]) : []);
  // One client for all of them: it keeps the pace of the account.
  const owner = ownerOf(call, { patient: true });
  const { requestId, quiet } = call.globals;
  using progress = createProgress('apps', { quiet });
  progress.total(plan.names.length);
  progress.at(codes.size);
  return await sideBySide({
    items: plan.names
      .map((name, at) => ({ name, number: at + 1, appId: plan.appIds?.[at], app: there.get(comparableName(name)) }))
      .filter(({ number, app }) => !codes.has(number) && (app === undefined || app.status === 'pending'))
      .map(({ app, ...item }) => ({ ...item, appId: item.appId ?? app?.appId })),
    what: ({ name, appId }) => appId ?? name,
    ofOneAlone: [WORDS[workOf(plan)].ofOneAlone],
    async work({ name, number, appId }) {
      refuseOld(plan, call.clock.now());
      const options = { idempotencyKey: keyOf(plan, number), requestId, signal };
      if (appId === undefined) await codes.add(number, await owner.createApp({ name }, options));
      else {
        const { enrollCode, expiresAt } = await owner.issueEnrollCode(appId, options);
        await codes.add(number, { appId, name, enrollCode, enrollCodeExpiresAt: expiresAt });
      }
      progress.at(codes.size);
    },
  });
}
