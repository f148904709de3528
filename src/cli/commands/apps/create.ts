import { ownerOf, requestOf } from '../../connection/clients.ts';
import { createdOnce } from '../../connection/created-once.ts';
import { printOne } from '../../output/print.ts';
import { CommandFault, EXIT, requireWholeStdout } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { savedSecret } from '../../terminal/secret-file.ts';
import { CREATED_COLUMNS, idOf, SAVED_COLUMNS } from './columns.ts';
import { resumeMany, saveMany } from './many-codes.ts';
import { namesIn, numbered } from './names.ts';

/* `muster apps create`: it shows a code, which no later answer does. */

export interface CreateOptions {
  readonly name?: string;
  readonly count?: number;
  readonly prefix?: string;
  readonly from?: string;
  readonly saveCodes?: string;
  readonly resume?: string;
  readonly idempotencyKey?: string;
}

/** @throws CommandFault, ConfigError, MusterError */
export async function createApps(call: Invocation, options: CreateOptions): Promise<void> {
  refuseMixed(options);
  const { count, prefix, from, saveCodes, resume } = options;
  if (resume !== undefined) return await resumeMany(call, 'create', resume);
  if (count === undefined && from === undefined) return await createOne(call, options);
  if (saveCodes === undefined) {
    throw new CommandFault('The codes of many apps go to a file: name a new one with --save-codes.', EXIT.usage);
  }
  const names = from === undefined ? numbered(prefix ?? '', count ?? 0) : await namesIn(from);
  await saveMany(call, names, saveCodes);
}

function refuseMixed({ name, count, prefix, from, saveCodes, resume, idempotencyKey }: CreateOptions): void {
  const ways = { '--name': name, '--count': count, '--from': from, '--resume': resume };
  const given = Object.entries(ways)
    .filter(([, value]) => value !== undefined)
    .map(([option]) => option);
  if (given.length > 1) throw new CommandFault(`Give only one of ${given.join(' and ')}.`, EXIT.usage);
  if ((count === undefined) !== (prefix === undefined)) {
    throw new CommandFault('--count and --prefix belong together.', EXIT.usage);
  }
  if (resume !== undefined && saveCodes !== undefined) {
    throw new CommandFault('The resume file names the file of codes: leave --save-codes out.', EXIT.usage);
  }
  if (idempotencyKey !== undefined && (count !== undefined || from !== undefined || resume !== undefined)) {
    throw new CommandFault('--idempotency-key is for one app: many have keys of their own, by --resume.', EXIT.usage);
  }
}

async function createOne(call: Invocation, options: CreateOptions): Promise<void> {
  const { name, saveCodes: codePath, idempotencyKey } = options;
  refuseLostCode(call, codePath, '--save-codes');
  const owner = ownerOf(call);
  const body = name === undefined ? {} : { name };
  const unsaved = ({ appId }: { readonly appId: string }): string =>
    `The app ${appId} was created, and its code could not be saved: \`muster apps code ${appId}\` issues another one.`;
  const app = await createdOnce({ what: 'The app', idempotencyKey }, (once) => {
    const create = () => owner.createApp(body, { ...requestOf(call), ...once });
    return codePath === undefined ? create() : savedSecret(codePath, create, { secretOf: codeOf, unsaved });
  });
  if (codePath === undefined) {
    requireWholeStdout(unsaved(app));
    return await printOne(call, { columns: CREATED_COLUMNS, id: idOf, item: app });
  }
  const { enrollCode: _saved, ...item } = app;
  await printOne(call, { columns: SAVED_COLUMNS, id: idOf, item });
  call.say(`The code is in ${codePath}.`);
}

export const codeOf = ({ enrollCode }: { readonly enrollCode: string }): string => enrollCode;

/** A code that nobody sees is lost, and so is one that a reader of stdout does not wait for. */
export function refuseLostCode({ globals }: Invocation, codePath: string | undefined, option: string): void {
  if (codePath !== undefined) return;
  if (globals.output === 'id') {
    throw new CommandFault(`-o id leaves the code out: save it with ${option}, or choose another form.`, EXIT.usage);
  }
  requireWholeStdout();
}
