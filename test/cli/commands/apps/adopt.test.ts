import { afterAll, beforeAll, expect, test } from 'vitest';
import { load, loadAll } from 'js-yaml';
import { yamlOf, resourceNameLike, uniqueNames } from '../../../../src/cli/output/manifests.ts';
import { fleetAccount } from '../../../../src/controller/kubernetes/schema/fleet-account.ts';
import { fleetApp } from '../../../../src/controller/kubernetes/schema/fleet-app.ts';
import { revoke } from '../../../support/service/daemon.ts';
import { connectedTo, musterHere, type Ended } from '../../../support/service/muster-command.ts';
import { call, createApp, Muster, OPERATOR_TOKEN, tenant } from '../../../support/service/muster.ts';

/* `muster accounts adopt` and `muster apps adopt`: the consent, and the manifest to apply. */

interface Applied {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

let muster: Muster;
let env: Record<string, string>;
beforeAll(async () => {
  muster = await Muster.start();
  env = connectedTo(muster);
});
afterAll(() => muster[Symbol.asyncDispose]());

const run = (...args: string[]): Promise<Ended> => musterHere(args, env);
const appsOf = async (accountId: string): Promise<Record<string, unknown>[]> => {
  const url = `${muster.ops}/operator/v1/accounts/${accountId}/apps`;
  return (await call(url, { token: OPERATOR_TOKEN })).body['apps'] as Record<string, unknown>[];
};

const accountOf = async (accountId: string): Promise<Record<string, unknown>> =>
  (await call(`${muster.ops}/operator/v1/accounts/${accountId}`, { token: OPERATOR_TOKEN })).body;

const byId = ([a]: readonly unknown[], [b]: readonly unknown[]): number => (String(a) < String(b) ? -1 : 1);

test('an account is offered to the FleetAccount that is printed', async () => {
  const { accountId } = await tenant(muster);
  const { code, stdout, stderr } = await run('accounts', 'adopt', accountId, '--namespace', 'edge', '-o', 'yaml');
  const { adoptableUntil } = await accountOf(accountId);
  expect([code, stderr]).toEqual([
    0,
    `The FleetAccount edge/tenant may adopt the account ${accountId}, once, until ${String(adoptableUntil)}.\n`,
  ]);
  const { kind, metadata, spec } = load(stdout) as Applied;
  expect([kind, metadata]).toEqual(['FleetAccount', { name: 'tenant', namespace: 'edge' }]);
  expect(fleetAccount.spec.parse(spec)).toEqual({
    adoptAccountId: accountId,
    displayName: 'tenant',
    entitlement: 'enterprise',
    disabled: false,
    deletionPolicy: 'Retain',
  });
  expect(await accountOf(accountId)).toMatchObject({ adoptableBy: 'edge/tenant' });
});

test('the UID of the namespace is given with the consent', async () => {
  const { accountId, apiKey } = await tenant(muster);
  const { appId } = await createApp(muster, apiKey, 'one');
  const given = ['--namespace', 'edge', '--namespace-uid', 'uid-1'];
  await run('accounts', 'adopt', accountId, ...given);
  expect(await accountOf(accountId)).toMatchObject({ adoptableBy: 'edge/tenant', namespaceUid: 'uid-1' });
  await run('apps', 'adopt', appId, '-a', accountId, ...given);
  expect(await appsOf(accountId)).toMatchObject([{ appId, adoptableBy: 'edge/one', namespaceUid: 'uid-1' }]);
  await run('accounts', 'update', accountId, '--adoptable-by', 'edge/other', '--namespace-uid', 'uid-2');
  expect(await accountOf(accountId)).toMatchObject({ adoptableBy: 'edge/other', namespaceUid: 'uid-2' });
  const alone = await run('accounts', 'update', accountId, '--namespace-uid', 'uid-3');
  expect(alone.code).not.toBe(0);
  expect(alone.stderr).toContain('give adoptableBy with it');
  expect(await accountOf(accountId)).toMatchObject({ namespaceUid: 'uid-2' });
});

test('a fleet is offered to FleetApps with names of their own, and each keeps its name the next time', async () => {
  const { accountId, apiKey } = await tenant(muster);
  await run('accounts', 'adopt', accountId, '--namespace', 'edge', '--name', 'acme');
  const names = ['Scanner 1', 'scanner-1', 'Käthe’s laptop', '☃', 'gone'];
  const ids: string[] = [];
  for (const name of names) ids.push((await createApp(muster, apiKey, name)).appId);
  await revoke(muster, apiKey, ids[4] ?? '');
  const all = ['apps', 'adopt', '--all', '-a', accountId, '--namespace', 'edge'];
  const first = await run(...all);
  const ends = (await appsOf(accountId)).map(({ adoptableUntil }) => String(adoptableUntil)).toSorted();
  expect([first.code, first.stderr]).toEqual([
    0,
    `5 apps of the account ${accountId} may be adopted, once, until ${ends[0]}.\n`,
  ]);
  const applied = loadAll(first.stdout) as Applied[];
  for (const { kind, metadata, spec } of applied) {
    expect([kind, metadata.namespace]).toEqual(['FleetApp', 'edge']);
    expect(fleetApp.spec.parse(spec)).toMatchObject({ accountRef: { name: 'acme' }, deletionPolicy: 'Retain' });
  }
  const nameOf = (index: number): string | undefined =>
    applied.find(({ spec }) => spec['adoptAppId'] === ids[index])?.metadata.name;
  expect(nameOf(0)).toBe(`scanner-1-${ids[0]?.slice(0, 6)}`);
  expect(nameOf(1)).toBe(`scanner-1-${ids[1]?.slice(0, 6)}`);
  expect(nameOf(2)).toBe('kathe-s-laptop');
  expect(nameOf(3)).toBe('app');
  expect(applied.map(({ spec }) => spec['desiredState']).filter(Boolean)).toEqual(['Revoked']);
  const consents = (await appsOf(accountId)).map(({ appId, adoptableBy }) => [appId, adoptableBy]);
  expect(consents.toSorted(byId)).toEqual(
    applied.map(({ metadata, spec }) => [spec['adoptAppId'], `edge/${metadata.name}`]).toSorted(byId),
  );
  await createApp(muster, apiKey, 'app');
  const again = loadAll((await run(...all)).stdout) as Applied[];
  expect(again).toHaveLength(6);
  expect(again).toEqual(expect.arrayContaining(applied));
});

test.each([
  [['--namespace', 'edge'], 2, 'either the ids of apps, or --all'],
  [['z'.repeat(20), '--all', '--namespace', 'edge'], 2, 'either the ids of apps, or --all'],
  [['--all', '--namespace', 'edge'], 2, 'name it by --fleet-account'],
  [['z'.repeat(20), '--fleet-account', 'acme', '--namespace', 'edge'], 4, 'has no app'],
  [['--all', '--namespace', 'Not/Valid'], 2, 'It is a name in Kubernetes'],
  [['--all', '--namespace', 'edge', '--namespace-uid', 'a b'], 2, 'letters, digits and hyphens'],
  [['--all', '--namespace', 'edge', '-o', 'json'], 2, 'It is yaml'],
])('apps adopt %s ends with %d: %s', async (args, status, words) => {
  const { accountId } = await tenant(muster);
  const { code, stdout, stderr } = await run('apps', 'adopt', '-a', accountId, ...args);
  expect([code, stdout]).toEqual([status, '']);
  expect(stderr).toContain(words);
});

test.each([['plain'], ['true'], ['12:30'], ['a "b" \\ c: #'], ['Käthe’s'], ['\u001b[31m\u2028'], ['- x'], [' pad ']])(
  'the text %j is read from the manifest as it was',
  (displayName) => {
    const metadata = { name: 'one', namespace: 'team' };
    const text = yamlOf({ apiVersion: 'muster.dev/v1beta1', kind: 'FleetAccount', metadata, spec: { displayName } });
    expect(load(text)).toMatchObject({ metadata, spec: { displayName } });
    expect(['\u001b', '\u2028'].filter((sign) => text.includes(sign))).toEqual([]);
  },
);

test('names are valid and each is there once, however the fleet is named', () => {
  const things = Array.from({ length: 300 }, (_, at) => ({
    id: String(at).padStart(20, 'k'),
    name: ['', '...', 'x'.repeat(100), 'Ärger', 'app', `n-${at % 7}`][at % 6] ?? '',
  }));
  const names = [...uniqueNames(things, new Set(['app', 'n-1'])).values()];
  expect(new Set(names).size).toBe(300);
  expect(names.filter((name) => !/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name))).toEqual([]);
  expect(names.filter((name) => name === 'app' || name === 'n-1')).toEqual([]);
  expect(resourceNameLike('-Ärger--über.Äpfel!', 'x')).toBe('arger-uber-apfel');
});
