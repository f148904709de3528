import type { Account, AccountApp, OperatorClient } from '#client';
import { accountNamed } from '../../connection/accounts.ts';
import { operatorOf, requestOf } from '../../connection/clients.ts';
import { CommandFault, EXIT } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { uniqueNames, yamlOf, type Manifest } from '../../output/manifests.ts';

export interface AdoptAppsOptions {
  readonly account: string;
  readonly namespace: string;
  readonly namespaceUid?: string;
  /** The FleetAccount of that namespace; the one that manages the account without it. */
  readonly fleetAccount?: string;
  /** Every app of the account that no FleetApp stands for. */
  readonly all?: boolean;
}

const PAGE_MAX = 1000;

/**
 * `muster apps adopt`: consents that FleetApps adopt apps, and prints those FleetApps. A repetition gives each app the
 * name that it was given before.
 * @throws CommandFault, ConfigError, MusterError
 */
export async function adoptApps(call: Invocation, ids: readonly string[], options: AdoptAppsOptions): Promise<void> {
  const { namespace, all = false } = options;
  if (all === ids.length > 0) {
    throw new CommandFault('Give either the ids of apps, or --all.', EXIT.usage);
  }
  const operator = operatorOf(call, { patient: true });
  const account = await accountNamed(operator, options.account, requestOf(call));
  const accountName = options.fleetAccount ?? fleetAccountIn(account, namespace);
  const apps: AccountApp[] = [];
  for await (const app of operator.accountApps(account.accountId, { limit: PAGE_MAX }, requestOf(call))) apps.push(app);
  const chosen = all
    ? apps.filter(({ managedBy }) => managedBy === undefined)
    : ids.map((id) => appOf(apps, id, account));
  const names = namesFor(chosen, apps, namespace);
  let first: string | undefined;
  for (const app of chosen) {
    const name = names.get(app.appId) ?? app.appId;
    const until = await consent(call, operator, app, { ...options, accountId: account.accountId, name });
    first ??= until;
    await call.terminal.stdout.write(yamlOf(manifestOf(app, { name, namespace }, accountName)));
  }
  const managed = apps.length - chosen.length;
  const left = all && managed > 0 ? `; ${managed} have a FleetApp already` : '';
  // The consents are given one after the other, so the first of them ends first.
  const until = first === undefined ? '' : `, until ${first}`;
  call.say(`${chosen.length} apps of the account ${account.accountId} may be adopted, once${until}${left}.`);
}

/** @returns when the consent ends */
async function consent(
  call: Invocation,
  operator: OperatorClient,
  { appId }: AccountApp,
  { accountId, namespace, namespaceUid, name }: AdoptAppsOptions & { accountId: string; name: string },
): Promise<string | undefined> {
  const change = { adoptableBy: `${namespace}/${name}`, ...(namespaceUid !== undefined && { namespaceUid }) };
  return (await operator.changeAccountApp(accountId, appId, change, requestOf(call))).adoptableUntil;
}

function appOf(apps: readonly AccountApp[], id: string, { accountId }: Account): AccountApp {
  const app = apps.find(({ appId }) => appId === id);
  if (app) return app;
  throw new CommandFault(`The account ${accountId} has no app ${id}.`, EXIT.notFound);
}

/** @throws CommandFault with exit code 2 where none of that namespace has to do with the account */
function fleetAccountIn({ accountId, managedBy, adoptableBy, releasedBy }: Account, namespace: string): string {
  for (const resource of [managedBy, adoptableBy, releasedBy]) {
    if (resource?.startsWith(`${namespace}/`) === true) return resource.slice(namespace.length + 1);
  }
  throw new CommandFault(
    `No FleetAccount of the namespace ${namespace} manages the account ${accountId}: name it by --fleet-account, or begin ` +
      'with `muster accounts adopt`.',
    EXIT.usage,
  );
}

function namesFor(
  chosen: readonly AccountApp[],
  all: readonly AccountApp[],
  namespace: string,
): ReadonlyMap<string, string> {
  const nameIn = (resource: string | undefined): string | undefined =>
    resource?.startsWith(`${namespace}/`) === true ? resource.slice(namespace.length + 1) : undefined;
  const taken = new Set<string>();
  for (const { adoptableBy, managedBy } of all) {
    for (const name of [nameIn(adoptableBy), nameIn(managedBy)]) if (name !== undefined) taken.add(name);
  }
  const given = chosen.flatMap(({ appId, adoptableBy }) => {
    const name = nameIn(adoptableBy);
    return name === undefined ? [] : [[appId, name] as const];
  });
  const known = new Map(given);
  const others = chosen.filter(({ appId }) => !known.has(appId)).map(({ appId, name }) => ({ id: appId, name }));
  return new Map([...given, ...uniqueNames(others, taken)]);
}

/** An enrolled app needs no code. Its daemon outlives the resource, unless somebody wishes otherwise. */
const manifestOf = ({ appId, status }: AccountApp, metadata: Manifest['metadata'], accountName: string): Manifest => ({
  apiVersion: 'muster.dev/v1beta1',
  kind: 'FleetApp',
  metadata,
  spec: {
    accountRef: { name: accountName },
    adoptAppId: appId,
    ...(status === 'revoked' && { desiredState: 'Revoked' }),
    deletionPolicy: 'Retain',
  },
});
