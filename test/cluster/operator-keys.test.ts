import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { call, Muster } from '../support/service/muster.ts';
import type { ApiAccess } from './support/api-access.ts';
import { sharedPlane } from './support/control-plane/shared-plane.ts';
import { describeOn } from './support/control-plane/tools.ts';
import { apiKeysOf, endOverlap, Namespace, operating, operatorApi, works } from './support/operated.ts';

/* A FleetApiKey as its owner sees it, on a real API server: a key in a Secret that opens /v1. */

describeOn('control plane', 'FleetApiKey', () => {
  let plane: ApiAccess;
  let muster: Muster;
  let team: Namespace;
  let accountId = '';
  let keys = 0;
  let name = '';
  let secret = '';
  beforeAll(async () => {
    plane = await sharedPlane();
    team = await Namespace.create(plane, 'team');
    muster = await Muster.start({ env: operating(plane.kubeconfig, team.name) });
    await team.apply('FleetAccount', 'acme', {});
    accountId = String((await team.ready('facct', 'acme', 'Synced')).status['accountId']);
  });
  afterAll(async () => {
    await muster[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  });
  beforeEach(() => {
    name = `ci-${(keys += 1)}`;
    secret = `${name}-key`;
  });

  const specOf = (more: object = {}): object => ({
    accountRef: { name: 'acme' },
    secretRef: { name: secret },
    ...more,
  });
  async function issued(more: object = {}): Promise<string> {
    await team.apply('FleetApiKey', name, specOf(more));
    await team.ready('fkey', name, 'Issued');
    return (await team.secret(secret, 'apiKey')) ?? '';
  }
  const keyIdOf = (apiKey: string): string => apiKey.slice('mst_live_'.length, 'mst_live_'.length + 12);

  test('becomes a key that works, in a Secret that the resource owns', async () => {
    const apiKey = await issued();
    expect(await works(muster, apiKey)).toBe(true);
    const { metadata, status } = await team.ready('fkey', name, 'Issued');
    expect(status).toMatchObject({ keyId: keyIdOf(apiKey), secretName: secret });
    expect((await team.get('secret', secret))?.metadata).toMatchObject({
      ownerReferences: [{ kind: 'FleetApiKey', name, uid: metadata.uid }],
    });
    await team.told(name, 'KeyIssued');
  });

  test('may do what its spec says, from the answer of the API server on and without another key', async () => {
    const apiKey = await issued({ access: 'enroll', allowedCidrs: ['127.0.0.0/8', '::1/128'] });
    const asked = async (method: string): Promise<number> =>
      (await call(`${muster.api}/v1/apps`, { method, token: apiKey, ...(method === 'POST' && { body: {} }) })).status;
    expect([await asked('GET'), await asked('POST')]).toEqual([403, 201]);
    await team.patch('fkey', name, { spec: { access: 'read' } });
    await team.eventually('the key to read', async () => (await asked('GET')) === 200);
    expect(await asked('POST')).toBe(403);
    await team.patch('fkey', name, { spec: { allowedCidrs: ['192.0.2.0/24'] } });
    await team.eventually('the key to be of no use here', async () => (await asked('GET')) === 403);
    await team.ready('fkey', name, 'Issued');
    // A change outside that narrows a key has the last word until the spec changes.
    const path = `accounts/${accountId}/api-keys/${keyIdOf(apiKey)}`;
    expect((await operatorApi(muster, path, 'PATCH', { allowedCidrs: ['192.0.2.0/25'] })).status).toBe(200);
    await team.ready('fkey', name, 'ChangedOutside');
    await team.patch('fkey', name, { spec: { access: 'full', allowedCidrs: null } });
    await team.eventually('the key to do everything', async () => (await asked('POST')) === 201);
    await team.ready('fkey', name, 'Issued');
    expect(await team.secret(secret, 'apiKey')).toBe(apiKey);
  });

  test.each([
    ['a range that is none', { allowedCidrs: ['10.0.0.0/8x'] }],
    ['another access', { access: 'write' }],
    ['too many ranges', { allowedCidrs: Array.from({ length: 21 }, (_none, at) => `10.${at}.0.0/16`) }],
  ])('is refused with %s', async (_what, more) => {
    await expect(team.apply('FleetApiKey', name, specOf(more))).rejects.toThrow();
    expect(await team.get('fkey', name)).toBe(undefined);
  });

  test('waits for its account, whichever comes first', async () => {
    await team.apply('FleetApiKey', name, specOf({ accountRef: { name: `${name}-late` } }));
    await team.ready('fkey', name, 'AccountNotFound');
    expect(await team.get('secret', secret)).toBeUndefined();
    await team.apply('FleetAccount', `${name}-late`, {});
    await team.ready('fkey', name, 'Issued');
  });

  test('is revoked when the resource is deleted, and its Secret goes', async () => {
    const apiKey = await issued();
    await team.delete('fkey', name);
    expect(await works(muster, apiKey)).toBe(false);
    await team.eventually('the Secret to be gone', async () => (await team.get('secret', secret)) === undefined);
  });

  test('that was revoked through the REST API stays revoked until the spec changes', async () => {
    const apiKey = await issued();
    await operatorApi(muster, `accounts/${accountId}/api-keys/${keyIdOf(apiKey)}`, 'DELETE');
    await team.ready('fkey', name, 'ChangedOutside');
    expect(await works(muster, apiKey)).toBe(false);
    await team.patch('fkey', name, { spec: { displayName: 'again' } });
    await team.ready('fkey', name, 'Issued');
    const next = (await team.secret(secret, 'apiKey')) ?? '';
    expect(keyIdOf(next)).not.toBe(keyIdOf(apiKey));
    expect(await works(muster, next)).toBe(true);
    expect(await works(muster, apiKey)).toBe(false);
  });

  test.each([
    ['rotated', (path: string) => operatorApi(muster, `${path}/rotation`, 'POST', { graceSeconds: 0 })],
    [
      'given an earlier end',
      (path: string) => operatorApi(muster, path, 'PATCH', { expiresAt: '2099-01-01T00:00:00Z' }),
    ],
  ])('that was %s through the REST API says so until the spec changes', async (_what, change) => {
    const apiKey = await issued();
    const { status } = await change(`accounts/${accountId}/api-keys/${keyIdOf(apiKey)}`);
    expect([200, 201]).toContain(status);
    await team.ready('fkey', name, 'ChangedOutside');
    await team.patch('fkey', name, { spec: { displayName: 'again' } });
    await team.ready('fkey', name, 'Issued');
    const next = (await team.secret(secret, 'apiKey')) ?? '';
    expect([next === apiKey, keyIdOf(next) === keyIdOf(apiKey)]).toEqual([false, true]);
    expect(await works(muster, next)).toBe(true);
  });

  test('that was rotated with an overlap has no further secret while pods may have the former one', async () => {
    const apiKey = await issued();
    const path = `accounts/${accountId}/api-keys/${keyIdOf(apiKey)}`;
    await operatorApi(muster, `${path}/rotation`, 'POST', {});
    await team.ready('fkey', name, 'ChangedOutside');
    await team.patch('fkey', name, { spec: { displayName: 'again' } });
    await team.eventually('it to wait', isWaiting);
    expect([await team.secret(secret, 'apiKey'), await works(muster, apiKey)]).toEqual([apiKey, true]);
    expect((await endOverlap(muster, accountId, keyIdOf(apiKey))).status).toBe(204);
    await team.ready('fkey', name, 'Issued');
    const next = (await team.secret(secret, 'apiKey')) ?? '';
    expect([await works(muster, apiKey), await works(muster, next)]).toEqual([false, true]);
  });

  const isWaiting = async (): Promise<boolean> => {
    const { status } = await team.ready('fkey', name, 'ChangedOutside');
    return status.conditions?.some(({ message }) => /former secret of .* ends at/.test(message)) === true;
  };

  test('whose Secret is deleted has a successor, and stays valid for the overlap', async () => {
    const apiKey = await issued();
    await team.kubectl(['delete', 'secret', secret]);
    await team.eventually('another key', async () => ((await team.secret(secret, 'apiKey')) ?? apiKey) !== apiKey);
    const next = await team.ready('fkey', name, 'Issued');
    const successor = (await team.secret(secret, 'apiKey')) ?? '';
    await team.eventually('it to work', () => works(muster, successor));
    expect(await works(muster, apiKey)).toBe(true);
    await team.eventually('the status to tell', async () => {
      const { status } = await team.ready('fkey', name, 'Issued');
      return status['keyId'] === keyIdOf(successor) && status['previousKeyValidUntil'] !== undefined;
    });
    expect(next.status['secretName']).toBe(secret);
  });

  test('goes on with its pending apps after a rotation', async () => {
    const apiKey = await issued({ access: 'enroll' });
    const ask = (token: string, path: string) => call(`${muster.api}${path}`, { method: 'POST', token, body: {} });
    const { body } = await ask(apiKey, '/v1/apps');
    await team.kubectl(['delete', 'secret', secret]);
    await team.eventually('another key', async () => ((await team.secret(secret, 'apiKey')) ?? apiKey) !== apiKey);
    const successor = (await team.secret(secret, 'apiKey')) ?? '';
    const code = (): Promise<{ status: number }> => ask(successor, `/v1/apps/${String(body['appId'])}/enroll-code`);
    await team.eventually('it to issue a code', async () => (await code()).status === 201);
  });

  test('replaces a value that somebody writes into the Secret, and never registers it', async () => {
    const apiKey = await issued();
    const other = await issuedBeside();
    const data = { apiKey: Buffer.from(other).toString('base64') };
    await team.patch('secret', secret, { data });
    await team.eventually('the Secret to be put right', async () => (await team.secret(secret, 'apiKey')) !== other);
    const successor = (await team.secret(secret, 'apiKey')) ?? '';
    await team.eventually('the successor to work', () => works(muster, successor));
    expect([apiKey, other]).not.toContain(successor);
  });
  /** A well-formed key that was never Muster's. */
  async function issuedBeside(): Promise<string> {
    const { body } = await operatorApi(muster, 'accounts', 'POST', { name: 'beside', entitlement: 'standard' });
    const created = await operatorApi(muster, `accounts/${String(body['accountId'])}/api-keys`, 'POST', {});
    return String(created.body['apiKey']);
  }

  test('never writes a Secret that is another’s', async () => {
    await team.kubectl(['create', 'secret', 'generic', secret, '--from-literal=apiKey=precious']);
    await team.apply('FleetApiKey', name, specOf());
    await team.ready('fkey', name, 'SecretNotOwned');
    expect(await team.secret(secret, 'apiKey')).toBe('precious');
    await team.told(name, 'SecretNotOwned');
    await team.patch('fkey', name, { spec: { secretRef: { name: `${secret}-own` } } });
    await team.ready('fkey', name, 'Issued');
    await team.delete('fkey', name);
    expect(await team.secret(secret, 'apiKey')).toBe('precious');
  });

  test('never writes a Secret of another resource', async () => {
    const apiKey = await issued();
    await team.apply('FleetApiKey', `${name}-second`, specOf());
    await team.ready('fkey', `${name}-second`, 'SecretNotOwned');
    expect(await team.secret(secret, 'apiKey')).toBe(apiKey);
    expect(await works(muster, apiKey)).toBe(true);
  });

  test('moves to the Secret and the key that the spec names', async () => {
    const apiKey = await issued();
    await team.patch('fkey', name, { spec: { secretRef: { name: secret, key: 'token' } } });
    await team.ready('fkey', name, 'Issued');
    const moved = (await team.get('secret', secret))?.data ?? {};
    expect(Object.keys(moved)).toEqual(['token']);
    expect(await works(muster, await team.secret(secret, 'token'))).toBe(true);
    expect(await works(muster, apiKey)).toBe(true);
  });

  test('refers to nothing but its own namespace', async () => {
    const beside = await Namespace.create(plane, `${name}-beside`);
    await beside.apply('FleetAccount', 'theirs', {});
    await team.apply('FleetApiKey', name, specOf({ accountRef: { name: 'theirs' } }));
    await team.ready('fkey', name, 'AccountNotFound');
    await expect(team.apply('FleetApiKey', name, specOf({ accountRef: { name: 'a/b' } }))).rejects.toThrow(
      'should match',
    );
    const strict = JSON.stringify({
      apiVersion: 'muster.dev/v1beta1',
      kind: 'FleetApiKey',
      metadata: { name: `${name}-strict` },
      spec: specOf({ accountRef: { name: 'acme', namespace: 'elsewhere' } }),
    });
    const applied = team.kubectl(['apply', '--validate=strict', '--filename=-'], strict);
    await expect(applied).rejects.toThrow('unknown field "spec.accountRef.namespace"');
  });

  test('holds the deletion of its FleetAccount, and works until it is deleted itself', async () => {
    await team.apply('FleetAccount', `${name}-acme`, {});
    const apiKey = await issued({ accountRef: { name: `${name}-acme` } });
    await team.kubectl(['delete', 'facct', `${name}-acme`, '--wait=false']);
    await team.ready('facct', `${name}-acme`, 'InUse');
    expect(await works(muster, apiKey)).toBe(true);
    await team.delete('fkey', name);
    expect(await works(muster, apiKey)).toBe(false);
    await team.kubectl(['wait', '--for=delete', `facct/${name}-acme`, '--timeout=300s']);
  });

  test('deleted while Muster is down is revoked at its return', async () => {
    const place = await Namespace.create(plane, `${name}-place`);
    const options = {
      dataDir: mkdtempSync(join(plane.directory, 'muster-')),
      env: operating(plane.kubeconfig, place.name),
    };
    const before = await Muster.start(options);
    await place.applyAll([
      { kind: 'FleetAccount', name: 'acme', spec: {} },
      { kind: 'FleetApiKey', name: 'ci', spec: { accountRef: { name: 'acme' }, secretRef: { name: 'ci' } } },
    ]);
    await place.ready('fkey', 'ci', 'Issued');
    const apiKey = await place.secret('ci', 'apiKey');
    expect(await works(before, apiKey)).toBe(true);
    await before[Symbol.asyncDispose]();
    await place.kubectl(['delete', 'fkey,facct', '--all', '--wait=false']);
    expect(await place.get('fkey', 'ci')).toBeDefined();
    await using after = await Muster.start(options);
    await place.eventually('the resources to be gone', async () => {
      const left = await Promise.all(['fkey', 'facct'].map((kind) => place.all(kind)));
      return left.flat().length === 0;
    });
    expect(await works(after, apiKey)).toBe(false);
  });

  test('leaves no secret in the logs, the metrics and the events', async () => {
    const apiKey = await issued();
    const word = apiKey.slice(-40);
    expect(muster.logged.join('\n')).not.toContain(word);
    expect(await (await fetch(`${muster.ops}/metrics`)).text()).not.toContain(word);
    expect(await team.kubectl(['get', 'events,fkey', '--output=json'])).not.toContain(word);
    expect(await apiKeysOf(muster, accountId)).toContain(keyIdOf(apiKey));
  });

  describe('the API server refuses', () => {
    test.each([
      [{ interval: '59m' }, 'interval must be at least 1h'],
      [{ interval: '2h', overlap: '2h' }, 'overlap must be shorter than interval'],
      [{ interval: '1d' }, 'should match'],
      [{ interval: 'h' }, 'should be at least 2 chars long'],
    ])('the rotation %o', async (rotation, words) => {
      await expect(team.apply('FleetApiKey', name, specOf({ rotation }))).rejects.toThrow(words);
    });

    test('takes the bound beside them', async () => {
      await issued({ rotation: { interval: '1h', overlap: '59m' } });
    });

    test('another account', async () => {
      await issued();
      const spec = { accountRef: { name: 'another' } };
      await expect(team.patch('fkey', name, { spec })).rejects.toThrow('accountRef is immutable');
    });
  });
});
