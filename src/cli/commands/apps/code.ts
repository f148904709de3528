import type { App } from '#client';
import { ownerOf, requestOf } from '../../connection/clients.ts';
import { createdOnce } from '../../connection/created-once.ts';
import { printList, printOne } from '../../output/print.ts';
import { CommandFault, EXIT, requireWholeStdout } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { orMissing } from '../../terminal/missing.ts';
import { savedSecret } from '../../terminal/secret-file.ts';
import { refuseOthers } from './change.ts';
import { idOf, ISSUED_COLUMNS } from './columns.ts';
import { codeOf, refuseLostCode } from './create.ts';
import { chosenOf, type Selection } from './list.ts';
import { refuseTakenPlace, resumeMany, saveMany } from './many-codes.ts';

/* `muster apps code`: further codes, for one app or many, which no later answer shows. */

export interface CodeOptions extends Selection {
  /** A new file for the one code alone. */
  readonly saveCode?: string;
  /** A new file for the codes of many. */
  readonly saveCodes?: string;
  readonly resume?: string;
  readonly idempotencyKey?: string;
}

/** @param named ids of apps; without them the options choose. @throws CommandFault, ConfigError, MusterError */
export async function issueCodes(call: Invocation, named: readonly string[], options: CodeOptions): Promise<void> {
  const { saveCode, saveCodes, resume, idempotencyKey, status, name, stale } = options;
  const ids = [...new Set(named)];
  const isChosen = [status, name, stale].some((one) => one !== undefined);
  const [first] = ids;
  if ([first !== undefined, isChosen, resume !== undefined].filter(Boolean).length !== 1) {
    const ways = 'name them by their ids, choose them by --status, --name and --stale, or go on with --resume';
    throw new CommandFault(`Say for which apps in one way: ${ways}.`, EXIT.usage);
  }
  refuseOthers(ids);
  const isOne = first !== undefined && ids.length === 1 && saveCodes === undefined;
  if (isOne) return await issueOne(call, first, options);
  if (saveCode !== undefined || idempotencyKey !== undefined) {
    throw new CommandFault('--save-code and --idempotency-key are for one app: many take --save-codes.', EXIT.usage);
  }
  if (resume !== undefined && saveCodes !== undefined) {
    throw new CommandFault('The resume file names the file of codes: leave --save-codes out.', EXIT.usage);
  }
  if (resume !== undefined) return await resumeMany(call, 'code', resume);
  if (saveCodes === undefined) {
    throw new CommandFault('The codes of many apps go to a file: name a new one with --save-codes.', EXIT.usage);
  }
  await refuseTakenPlace(saveCodes);
  const { apps } = await ownerOf(call).listApps(requestOf(call));
  const meant = isChosen ? chosenOf(apps, options, call.clock.now()) : foundOf(apps, ids);
  if (meant.length === 0) {
    const none = 'There is no such app: no code is issued.';
    return void (await printList(call, { columns: ISSUED_COLUMNS, id: idOf, items: [], none }));
  }
  await saveMany(call, meant, saveCodes);
}

/** @throws CommandFault with exit code 4 where one is missing: a list that is partly old is another than was meant */
function foundOf(apps: readonly App[], ids: readonly string[]): readonly App[] {
  const byId = new Map(apps.map((app) => [app.appId, app]));
  const [missing, ...others] = ids.filter((id) => !byId.has(id));
  if (missing === undefined) return ids.flatMap((id) => byId.get(id) ?? []);
  const more = others.length === 0 ? '' : `, and ${others.length} more of these ids are of none`;
  throw new CommandFault(`There is no app ${missing}${more}: no code is issued.`, EXIT.notFound);
}

async function issueOne(call: Invocation, appId: string, { saveCode, idempotencyKey }: CodeOptions): Promise<void> {
  refuseLostCode(call, saveCode, '--save-code');
  const owner = ownerOf(call);
  const unsaved = (): string => `A code of the app ${appId} was issued, and could not be saved: issue another one.`;
  const issuing = createdOnce({ what: 'The code', idempotencyKey }, (once) => {
    const issue = () => owner.issueEnrollCode(appId, { ...requestOf(call), ...once });
    return saveCode === undefined ? issue() : savedSecret(saveCode, issue, { secretOf: codeOf, unsaved });
  });
  const issued = await orMissing(`There is no app ${appId}`, issuing);
  if (saveCode === undefined) requireWholeStdout(unsaved());
  const { enrollCode, expiresAt } = issued;
  const app = { head: 'APP', name: 'appId', of: () => appId };
  const expires = { head: 'CODE EXPIRES', name: 'expiresAt', of: () => expiresAt, kind: 'time' } as const;
  const code = { head: 'CODE', name: 'enrollCode', of: () => enrollCode };
  const item = { appId, ...(saveCode === undefined && { enrollCode }), expiresAt };
  await printOne(call, { columns: saveCode === undefined ? [app, code, expires] : [app, expires], id: idOf, item });
  if (saveCode !== undefined) call.say(`The code is in ${saveCode}.`);
}
