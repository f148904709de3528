import type { OwnerClient } from '#client';
import { APP_ID } from '../../../api/contract/fields.ts';
import { ownerOf } from '../../connection/clients.ts';
import { endBulk } from '../../output/bulk.ts';
import type { Column } from '../../output/columns.ts';
import { printList } from '../../output/print.ts';
import { sideBySide } from '../../output/side-by-side.ts';
import { confirmed } from '../../terminal/confirmation.ts';
import { CommandFault, EXIT } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { isMissing, orMissing } from '../../terminal/missing.ts';
import { createProgress } from '../../terminal/progress.ts';
import { onInterruption } from '../../terminal/signals.ts';
import { idOf } from './columns.ts';

/* `muster apps revoke` and `muster apps delete`: one app or many. */

interface Change extends DeleteOptions {
  readonly verb: string;
  readonly done: 'revoked' | 'deleted';
  /** From so many apps on a person is asked. */
  readonly askedFrom: number;
  readonly carryOut: (
    owner: OwnerClient,
    appId: string,
    options: { requestId: string | undefined; signal: AbortSignal },
  ) => Promise<unknown>;
}

const REVOKE: Change = {
  verb: 'Revoke',
  done: 'revoked',
  askedFrom: 2,
  carryOut: (owner, appId, options) => owner.revokeApp(appId, options),
};
const DELETE: Change = {
  verb: 'Delete',
  done: 'deleted',
  askedFrom: 1,
  // The client takes a 404 for success where a DELETE was sent again.
  carryOut: (owner, appId, options) => owner.deleteApp(appId, options),
};

export const revokeApps = (call: Invocation, appIds: readonly string[]): Promise<void> => changed(call, appIds, REVOKE);

export interface DeleteOptions {
  /** An app that is not there is no failure: it was to be deleted. */
  readonly ignoreMissing?: boolean;
}
export const deleteApps = (
  call: Invocation,
  appIds: readonly string[],
  { ignoreMissing = false }: DeleteOptions = {},
): Promise<void> => changed(call, appIds, { ...DELETE, ignoreMissing });

interface Changed {
  readonly appId: string;
  readonly status: Change['done'];
}

const COLUMNS: readonly Column<Changed>[] = [
  { head: 'APP', field: 'appId' },
  { head: 'STATUS', field: 'status' },
];

/**
 * Judges all words before anything is done to the first app: a list of ids that holds something else is another list
 * than was meant.
 * @throws CommandFault with exit code 2
 */
export function refuseOthers(words: readonly string[]): void {
  const [first, ...others] = words.filter((word) => !APP_ID.test(word));
  if (first === undefined) return;
  const which =
    others.length === 0
      ? `"${first}", which is no id of an app`
      : `"${first}" and ${others.length} more, which are no ids of apps`;
  throw new CommandFault(
    `Nothing was done: among the ids is ${which}. An id has 20 small letters and digits.`,
    EXIT.usage,
  );
}

/** @throws CommandFault, for one app with exit code 4 where it is not there; ConfigError; for one app MusterError */
async function changed(call: Invocation, named: readonly string[], change: Change): Promise<void> {
  const appIds = [...new Set(named)];
  refuseOthers(appIds);
  const { verb, done, askedFrom, ignoreMissing = false } = change;
  const { output, yes, quiet, requestId } = call.globals;
  const isMany = appIds.length > 1;
  const owner = ownerOf(call, { patient: isMany });
  const what = isMany ? `${verb} ${appIds.length} apps` : `${verb} the app ${appIds[0] ?? ''}`;
  await confirmed({ what, count: appIds.length < askedFrom ? 0 : appIds.length, yes }, call.terminal);

  using interruption = onInterruption(new CommandFault('interrupted'));
  const changedIds = new Set<string>();
  const work = async (appId: string): Promise<void> => {
    try {
      await change.carryOut(owner, appId, { requestId, signal: interruption.signal });
      changedIds.add(appId);
    } catch (error) {
      if (!ignoreMissing || !isMissing(error)) throw error;
      call.say(`The app ${appId} is not there.`);
    }
  };
  const print = (): Promise<number> => {
    const items = appIds.filter((appId) => changedIds.has(appId)).map((appId) => ({ appId, status: done }));
    return printList(call, { columns: COLUMNS, id: idOf, items });
  };
  // One app ends with the exit code of its own refusal.
  if (!isMany) {
    for (const appId of appIds) await orMissing(`There is no app ${appId}`, work(appId));
    // A table without a line says nothing; a document for a program is one without an item, too.
    if (changedIds.size > 0 || output !== 'table') await print();
    return;
  }
  const failures = await (async () => {
    using progress = createProgress('apps', { quiet });
    progress.total(appIds.length);
    return await sideBySide({
      items: appIds,
      what: (appId) => appId,
      ofOneAlone: ['not_found', 'invalid_argument'],
      async work(appId) {
        await work(appId);
        progress.at(changedIds.size);
      },
    });
  })();
  await endBulk(call, { what: `apps ${done}`, done: changedIds.size, failures }, print);
}
