import type { App } from '#client';
import { ownerOf, requestOf } from '../../connection/clients.ts';
import { printList, printOne } from '../../output/print.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { orMissing } from '../../terminal/missing.ts';
import { APP_COLUMNS, idOf } from './columns.ts';

/** The conditions that an app meets, all of them, so that the command is for it. */
export interface Selection {
  readonly status?: App['status'];
  /** A glob. */
  readonly name?: string;
  /** Seconds. */
  readonly stale?: number;
}

/** @throws ConfigError, MusterError */
export async function listApps(call: Invocation, selection: Selection): Promise<void> {
  const { apps } = await ownerOf(call).listApps(requestOf(call));
  const items = chosenOf(apps, selection, call.clock.now());
  await printList(call, { columns: APP_COLUMNS, id: idOf, items, none: 'There is no such app.' });
}

/** The apps of a list that are meant. @param now milliseconds since 1970 */
export const chosenOf = (apps: readonly App[], { status, name, stale }: Selection, now: number): App[] =>
  apps.filter(
    (app) =>
      (status === undefined || app.status === status) &&
      (name === undefined || fits(name, app.name)) &&
      (stale === undefined || isStale(app, now - stale * 1000)),
  );

/** Active, and not seen since then; a daemon that was never seen counts by the creation of its app. */
const isStale = ({ status, lastSeenAt, createdAt }: App, since: number): boolean =>
  status === 'active' && Date.parse(lastSeenAt ?? createdAt) < since;

/**
 * Whether a text fits a glob as a whole: `*` stands for any text, `?` for one character. In time that is bounded by the
 * product of both lengths, unlike the regular expression for it.
 */
export function fits(glob: string, text: string): boolean {
  const [pattern, characters] = [Array.from(glob), Array.from(text)];
  let [at, position] = [0, 0];
  // The place of the last star, and of the end of the text that it has taken.
  let [star, taken] = [-1, 0];
  while (position < characters.length) {
    const sign = pattern[at];
    if (sign === '*') [star, taken, at] = [at, position, at + 1];
    else if (sign !== undefined && (sign === '?' || sign === characters[position]))
      [at, position] = [at + 1, position + 1];
    else if (star === -1) return false;
    else {
      taken += 1;
      [at, position] = [star + 1, taken];
    }
  }
  return pattern.slice(at).every((sign) => sign === '*');
}

/** @throws CommandFault with exit code 4 where there is none; ConfigError, MusterError */
export async function getApp(call: Invocation, appId: string): Promise<void> {
  const { requestId } = call.globals;
  const item = await orMissing(`There is no app ${appId}`, ownerOf(call).readApp(appId, { requestId }));
  await printOne(call, { columns: APP_COLUMNS, id: idOf, item });
}
