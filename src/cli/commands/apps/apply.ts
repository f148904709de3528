import type { App } from '#client';
import { LIMITS } from '../../../domain/limits.ts';
import { ownerOf, requestOf } from '../../connection/clients.ts';
import type { Column } from '../../output/columns.ts';
import { printableName } from '../../output/printable-name.ts';
import { printList } from '../../output/print.ts';
import { CommandFault, EXIT } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { idOf, SAVED_COLUMNS } from './columns.ts';
import { refuseTakenPlace, saveMany } from './many-codes.ts';
import { comparableName, namesIn } from './names.ts';

/* `muster apps apply`: a file of names and the apps of an account, brought together by what is created. */

export interface ApplyOptions {
  readonly from: string;
  readonly dryRun: boolean;
  readonly saveCodes?: string;
}

/** A difference between the apps of an account and those of the file. */
interface Difference extends Partial<Pick<App, 'appId' | 'status'>> {
  /**
   * `create`: no app has the name. `surplus`: the file has not the name. `same-name`: one of several apps of a name.
   */
  readonly action: 'create' | 'surplus' | 'same-name';
  readonly name: string;
}

const COLUMNS: readonly Column<Difference>[] = [
  { head: 'ACTION', field: 'action' },
  { head: 'NAME', field: 'name', kind: 'text' },
  { head: 'APP', field: 'appId' },
  { head: 'STATUS', field: 'status' },
];

/**
 * Creates the apps of the file that the account has not, by their names, and says which it has beyond them: none is
 * deleted. The whole file is judged before; a second run creates nothing.
 * @throws CommandFault, ConfigError, MusterError
 */
export async function applyApps(call: Invocation, { from, dryRun, saveCodes }: ApplyOptions): Promise<void> {
  const names = await namesIn(from, { once: true });
  const { apps } = await ownerOf(call).listApps(requestOf(call));
  const differences = differencesOf(names, apps);
  const missing = differences.flatMap(({ action, name }) => (action === 'create' ? [name] : []));
  const others = differences.filter(({ action }) => action !== 'create');
  if (dryRun) {
    const items = differences;
    await printList(call, { columns: COLUMNS, items, none: 'The account and the file are alike.' });
  }
  refuseTooMany(apps.length, missing.length);
  if (dryRun) {
    return call.say(`${names.length - missing.length} names have an app, ${missing.length} apps would be created.`);
  }
  if (missing.length === 0) {
    await printList(call, { columns: SAVED_COLUMNS, id: idOf, items: [], none: 'No app is missing.' });
  } else {
    if (saveCodes === undefined) {
      const words = `${missing.length} apps are missing, and their codes go to a file: name a new one with --save-codes.`;
      throw new CommandFault(words, EXIT.usage);
    }
    await refuseTakenPlace(saveCodes);
  }
  tellOthers(call, others);
  if (saveCodes !== undefined && missing.length > 0) await saveMany(call, missing, saveCodes, { byName: true });
}

/** @param names each once */
function differencesOf(names: readonly string[], apps: readonly App[]): readonly Difference[] {
  const byName = Map.groupBy(apps, ({ name }) => comparableName(name));
  const listed = new Set(names.map((name) => comparableName(name)));
  return [
    ...names
      .filter((name) => !byName.has(comparableName(name)))
      .map((name): Difference => ({ action: 'create', name })),
    ...apps.flatMap(({ appId, name, status }): Difference[] => {
      const own = { name, appId, status };
      if (!listed.has(comparableName(name))) return [{ action: 'surplus', ...own }];
      return byName.get(comparableName(name))?.length === 1 ? [] : [{ action: 'same-name', ...own }];
    }),
  ];
}

/** Some of them would be created, and the others refused. */
function refuseTooMany(there: number, missing: number): void {
  const max = LIMITS.appsPerAccountMax;
  if (missing === 0 || there + missing <= max) return;
  throw new CommandFault(
    `${missing} apps are missing, and the account has ${there} of at most ${max}: nothing is created.`,
    EXIT.usage,
  );
}

const TOLD_MAX = 20;

function tellOthers(call: Invocation, others: readonly Difference[]): void {
  for (const { action, name, appId = '', status = '' } of others.slice(0, TOLD_MAX)) {
    const what = action === 'surplus' ? 'is not in the file' : 'has a name that several apps have';
    call.say(`${appId} "${printableName(name)}" (${status}) ${what}.`);
  }
  if (others.length > TOLD_MAX) call.say(`${others.length - TOLD_MAX} more are listed by --dry-run.`);
}
