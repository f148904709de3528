import { afterAll, beforeAll, expect, test } from 'vitest';
import { Muster } from '../../support/service/muster.ts';
import type { ApiAccess } from '../support/api-access.ts';
import { ApiFront } from '../support/api-front.ts';
import { sharedPlane } from '../support/control-plane/shared-plane.ts';
import { describeOn } from '../support/control-plane/tools.ts';
import { apiKeysOf, Namespace, operating, operatorApi } from '../support/operated.ts';

/* Nothing that an operator has given to another namespace is cleaned up from the former one, and that is said. */

describeOn('control plane', 'a namespace whose name an operator has given to another one', () => {
  let plane: ApiAccess;
  let front: ApiFront;
  let muster: Muster;
  let team: Namespace;
  let accountId: unknown;
  beforeAll(async () => {
    plane = await sharedPlane();
    front = await ApiFront.start(plane, { name: 'letting-go' });
    team = await Namespace.create(plane, 'former');
    muster = await Muster.start({ env: operating(front.kubeconfig, team.name) });
    for (const name of ['unread', 'given']) await team.issuedKey(name, 'acme', {});
    accountId = (await team.ready('facct', 'acme', 'Synced')).status['accountId'];
    const put = { namespace: team.name, namespaceUid: 'the-other-one' };
    expect((await operatorApi(muster, 'kubernetes/recovery', 'PUT', put)).status).toBe(200);
  });
  afterAll(async () => {
    await muster[Symbol.asyncDispose]();
    await front[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  });

  const skipped = (name: string): readonly string[] =>
    muster.logged.filter((line) => line.includes('without its clean-up') && line.includes(`"name":"${name}"`));

  test('holds a resource while the UID of its own cannot be read, and says why', async () => {
    front.meddle = ({ path }) => (path === `/api/v1/namespaces/${team.name}` ? { answer: { status: 403 } } : undefined);
    const keys = await apiKeysOf(muster, accountId);
    await team.kubectl(['delete', 'fkey', 'unread', '--wait=false']);
    const told = await team.ready('fkey', 'unread', 'ApiServerRefused');
    expect(told.status.conditions?.[0]?.message).toContain(`the namespace ${team.name} cannot be read`);
    expect(told.metadata.finalizers).toEqual(['muster.dev/cleanup']);
    await team.told('unread', 'ApiServerRefused');
    expect(await apiKeysOf(muster, accountId)).toEqual(keys);
    front.meddle = () => undefined;
    await team.patch('fkey', 'unread', { metadata: { annotations: { again: '1' } } });
    await team.eventually('it to go', async () => (await team.get('fkey', 'unread')) === undefined);
    expect(await apiKeysOf(muster, accountId)).toEqual(keys);
  });

  test('lets a resource go without its clean-up, with a warning', async () => {
    const keys = await apiKeysOf(muster, accountId);
    await team.delete('fkey', 'given');
    await team.told('given', 'CleanupSkipped');
    expect(skipped('given')).toHaveLength(1);
    expect(skipped('given')[0]).toContain('"level":"warn"');
    expect(await apiKeysOf(muster, accountId)).toEqual(keys);
  });

  test('says nothing of a resource that stands for nothing', async () => {
    await team.apply('FleetApiKey', 'idle', { accountRef: { name: 'nobody' }, secretRef: { name: 'idle' } });
    await team.ready('fkey', 'idle', 'AccountNotFound');
    await team.delete('fkey', 'idle');
    expect(skipped('idle')).toEqual([]);
    expect(await team.events('idle')).not.toContain('CleanupSkipped');
  });
});
