import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { OPERATIONS } from '../../../src/api/panel/routes.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { Store } from '../../../src/store/port.ts';
import { exchange } from '../../support/http/raw-http.ts';
import { pathOf } from '../../support/panel/operation-request.ts';
import { ask, panelMuster, signedIn, type Browser, type PanelMuster } from '../../support/panel/panel-users.ts';
import { asOperator, codeOf } from '../../support/panel/visitor.ts';
import { call, createApp, enroll, tenant } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { wrappedStore } from '../../support/store/wrapped-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

/* What people do with an account in the panel, and who may not. */

const PAGE = z.object({ entries: z.array(z.looseObject({ at: z.string() })), next: z.string().optional() });

interface World {
  readonly accountId: string;
  readonly apiKey: string;
  readonly owner: Browser;
  readonly viewer: Browser;
  readonly stranger: Browser;
  readonly operator: Browser;
}

async function world({ muster, store }: PanelMuster): Promise<World> {
  const { accountId, apiKey } = await tenant(muster);
  const [owner, viewer, stranger, operator] = await Promise.all([
    signedIn(store, { name: 'Olga', accounts: [{ accountId, role: 'owner' }] }),
    signedIn(store, { name: 'Vera', accounts: [{ accountId, role: 'viewer' }] }),
    signedIn(store, { name: 'Stan' }),
    signedIn(store, { name: 'Otto', operator: true }),
  ]);
  return { accountId, apiKey, owner, viewer, stranger, operator };
}

onEachBackend('an account in the panel', (backend) => {
  test('each operation of an account is refused to a stranger as unknown, and each write to a viewer', async () => {
    await using panel = await panelMuster(backend);
    const { accountId, viewer, stranger } = await world(panel);
    const judged = OPERATIONS.filter(({ access }) => access === 'owner' || access === 'viewer');
    expect(judged.length).toBeGreaterThan(20);
    for (const { id, method, path, access } of judged) {
      const request = { method: method.toUpperCase(), ...(method !== 'get' && { body: {} }) };
      const asked = await ask(panel, stranger, pathOf(path, accountId), request);
      expect([id, asked.status, codeOf(asked)]).toEqual([id, 404, 'not_found']);
      const seen = await ask(panel, viewer, pathOf(path, accountId), request);
      if (access === 'owner') expect([id, seen.status, codeOf(seen)]).toEqual([id, 403, 'forbidden']);
      else expect([id, codeOf(seen)]).not.toEqual([id, 'forbidden']);
    }
    const forOperators = OPERATIONS.filter(({ access }) => access === 'operator');
    expect(forOperators.length).toBeGreaterThan(10);
    for (const { id, method, path } of forOperators) {
      const request = { method: method.toUpperCase(), ...(method !== 'get' && { body: {} }) };
      const asked = await ask(panel, viewer, pathOf(path, accountId), request);
      expect([id, asked.status, codeOf(asked)]).toEqual([id, 403, 'forbidden']);
    }
    for (const { id, method, path, access } of OPERATIONS.filter(
      ({ access: of }) => of !== undefined && of !== 'anyone',
    )) {
      const request = { method: method.toUpperCase(), ...(method !== 'get' && { body: {} }) };
      const asked = await ask(panel, undefined, pathOf(path, accountId), request);
      expect([id, access, asked.status, codeOf(asked)]).toEqual([id, access, 401, 'invalid_session']);
    }
  });

  test('an app is created, found, enrolled, revoked and deleted; the audit names the user', async () => {
    await using panel = await panelMuster(backend);
    const { accountId, owner, viewer, operator } = await world(panel);
    const at = `/accounts/${accountId}`;
    const key = { 'idempotency-key': 'one-app' };
    const create = () => ask(panel, owner, `${at}/apps`, { method: 'POST', body: { name: 'edge 1' }, headers: key });
    const created = await create();
    expect(created.status).toBe(201);
    const again = await create();
    expect(again.body).toEqual(created.body);
    const { appId, enrollCode } = created.body as { appId: string; enrollCode: string };
    expect((await ask(panel, viewer, `${at}/apps`)).body['apps']).toMatchObject([{ appId, status: 'pending' }]);
    await enroll(panel.muster, { appId, enrollCode });
    expect((await ask(panel, viewer, `${at}/overview`)).body['apps']).toMatchObject({ total: 1, active: 1, silent: 0 });
    expect((await ask(panel, operator, `/find?text=${appId}`)).body['app']).toEqual({
      accountId,
      appId,
      name: 'edge 1',
    });
    expect((await ask(panel, owner, `${at}/apps/${appId}/revoke`, { method: 'POST', body: {} })).status).toBe(200);
    expect((await ask(panel, viewer, `${at}/apps/${appId}`)).body).toMatchObject({ status: 'revoked' });
    expect((await ask(panel, owner, `${at}/apps/${appId}`, { method: 'DELETE' })).status).toBe(204);
    expect((await ask(panel, viewer, `${at}/apps/${appId}`)).status).toBe(404);
    const { entries } = (await ask(panel, viewer, `${at}/audit?appId=${appId}`)).body as {
      entries: { action: string; actor: string }[];
    };
    const own = entries.filter(({ actor }) => actor === `user:${owner.userId}`).map(({ action }) => action);
    expect(own).toEqual(['app.deleted', 'app.revoked', 'app.created']);
  });

  test('an API key is told to the repetition of the same user, opens /v1, and is refused once it is revoked', async () => {
    await using panel = await panelMuster(backend);
    const { accountId, owner, viewer, operator } = await world(panel);
    const at = `/accounts/${accountId}/api-keys`;
    const create = (by: Browser) =>
      ask(panel, by, at, { method: 'POST', body: { name: 'automation' }, headers: { 'idempotency-key': 'k1' } });
    const created = await create(owner);
    expect(created.status).toBe(201);
    expect((await create(owner)).body).toEqual(created.body);
    const others = await create(operator);
    expect(others.status).toBe(201);
    expect(others.body['keyId']).not.toBe(created.body['keyId']);
    const { apiKey, keyId } = created.body as { apiKey: string; keyId: string };
    const apps = () => call(`${panel.muster.api}/v1/apps`, { token: apiKey });
    expect((await apps()).status).toBe(200);
    const listed = await ask(panel, viewer, at);
    expect(listed.text).not.toContain(apiKey);
    expect(listed.body['apiKeys']).toContainEqual(
      expect.objectContaining({ keyId, createdBy: `user:${owner.userId}`, createdByName: 'Olga' }),
    );
    expect((await ask(panel, owner, `${at}/${keyId}`, { method: 'DELETE' })).status).toBe(204);
    expect((await apps()).status).toBe(401);
  });

  test('a configuration that another changed meanwhile is not overwritten; of twenty who save at once, one does', async () => {
    await using panel = await panelMuster(backend);
    const { accountId, apiKey, owner } = await world(panel);
    const at = `/accounts/${accountId}/otel-config`;
    const save = (endpoint: string, seen?: unknown) =>
      ask(panel, owner, at, { method: 'PUT', body: { enabled: true, endpoint, ...(seen !== undefined && { seen }) } });
    const first = await save('https://a.example.com', '0');
    expect(first.body).toMatchObject({ endpoint: 'https://a.example.com', revision: 1 });
    const { tag } = first.body;
    await call(`${panel.muster.api}/v1/otel-config`, {
      method: 'PUT',
      token: apiKey,
      body: { enabled: true, endpoint: 'https://script.example.com' },
    });
    const late = await save('https://b.example.com', tag);
    expect([late.status, codeOf(late)]).toEqual([409, 'changed_meanwhile']);
    const now = await ask(panel, owner, at);
    expect(now.body).toMatchObject({ endpoint: 'https://script.example.com' });
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, index) => save(`https://n${index}.example.com`, now.body['tag'])),
    );
    expect(all.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      200,
      ...Array.from({ length: 19 }, () => 409),
    ]);
    const winner = all.find(({ status }) => status === 200);
    expect((await ask(panel, owner, at)).body).toMatchObject({ endpoint: winner?.body['endpoint'] });
    expect((await save('https://any.example.com')).status).toBe(200);
  });

  test('the 21st failure, too, is told with the words of its daemon', async () => {
    await using panel = await panelMuster(backend);
    const { accountId, apiKey, viewer } = await world(panel);
    const body = {
      enabled: true,
      endpoint: 'https://otel.example.com',
      authHeader: 'Bearer x',
      evidenceLevel: 'hashes',
    };
    await call(`${panel.muster.api}/v1/otel-config`, { method: 'PUT', token: apiKey, body });
    for (let number = 0; number < 22; number += 1) {
      const token = await enroll(panel.muster, await createApp(panel.muster, apiKey, `edge ${number}`));
      if (number === 21) continue;
      const said = { revision: 1, status: 'failed', error: `no route from ${number}` };
      await call(`${panel.muster.device}/device/v1/config/ack`, { method: 'POST', token, body: said });
    }
    const { status, body: told } = await ask(panel, viewer, `/accounts/${accountId}/rollout/apps`);
    const { revision, apps } = told as { revision: number; apps: { state: string; error?: string }[] };
    expect([status, revision, apps.length]).toEqual([200, 1, 22]);
    expect(apps.map(({ error }) => error ?? '-').toSorted()).toEqual(
      ['-', ...Array.from({ length: 21 }, (_, number) => `no route from ${number}`)].toSorted(),
    );
    expect(apps.filter(({ state }) => state === 'failed')).toHaveLength(21);
  });

  test('what each daemon does is read once for all who look at once, and anew after a change', async () => {
    let lists = 0;
    const wrapStore = (store: Store): Store =>
      wrappedStore(store, {
        list: async (request) => {
          if (request.prefix.startsWith(KEYS.ack.under())) lists += 1;
          return await store.list(request);
        },
      });
    const clock = new FakeClock();
    await using panel = await panelMuster(backend, { clock, wrapStore });
    const { accountId, owner, viewer } = await world(panel);
    const at = `/accounts/${accountId}`;
    const looked = async (by = viewer) => (await ask(panel, by, `${at}/rollout/apps`)).body['revision'];
    const before = lists;
    expect(await Promise.all(Array.from({ length: 20 }, () => looked()))).toEqual(Array.from({ length: 20 }, () => 0));
    expect(lists - before).toBe(1);
    const stored = { enabled: true, endpoint: 'https://a.example.com', seen: '0' };
    expect((await ask(panel, owner, `${at}/otel-config`, { method: 'PUT', body: stored })).status).toBe(200);
    expect(await looked(owner)).toBe(1);
  });

  test('who has changed the configuration sees its rollout anew, however lately it was read', async () => {
    const clock = new FakeClock();
    await using panel = await panelMuster(backend, { clock });
    const { accountId, owner } = await world(panel);
    const at = `/accounts/${accountId}`;
    const rollout = async () => (await ask(panel, owner, `${at}/rollout`)).body;
    const before = await rollout();
    const stored = { enabled: true, endpoint: 'https://a.example.com', seen: '0' };
    expect((await ask(panel, owner, `${at}/otel-config`, { method: 'PUT', body: stored })).status).toBe(200);
    expect(await rollout()).not.toEqual(before);
  });

  test('a purge is told as running until the store has forgotten', async () => {
    await using panel = await panelMuster(backend);
    const { accountId, owner, viewer } = await world(panel);
    const at = `/accounts/${accountId}/otel-config`;
    const body = { enabled: true, endpoint: 'https://a.example.com', authHeader: 'Bearer hidden' };
    const stored = await ask(panel, owner, at, { method: 'PUT', body });
    expect(stored.text).not.toContain('hidden');
    expect(stored.body).toMatchObject({ authHeaderSet: true, purge: 'none' });
    expect((await ask(panel, owner, at, { method: 'DELETE' })).status).toBe(200);
    expect((await ask(panel, viewer, at)).body).toMatchObject({ endpoint: '', authHeaderSet: false });
    expect(['in-history', 'forgotten']).toContain((await ask(panel, viewer, at)).body['purge']);
  });

  test('the audit reads newest first in pages of any size, and by filters', async () => {
    await using panel = await panelMuster(backend);
    const { accountId, apiKey, viewer } = await world(panel);
    for (let index = 0; index < 7; index += 1) await createApp(panel.muster, apiKey, `app ${index}`);
    const page = async (query: string) => {
      const { body } = await ask(panel, viewer, `/accounts/${accountId}/audit?${query}`);
      return PAGE.parse(body);
    };
    const whole = await page('limit=200');
    expect(whole.entries.length).toBeGreaterThanOrEqual(8);
    expect(whole.entries.map(({ at }) => at)).toEqual(
      whole.entries.map(({ at }) => at).toSorted((a, b) => (a < b ? 1 : -1)),
    );
    for (const limit of [1, 2, 3, 5]) {
      const read: z.infer<typeof PAGE>['entries'] = [];
      let next: string | undefined;
      do {
        const got = await page(`limit=${limit}${next === undefined ? '' : `&before=${next}`}`);
        read.push(...got.entries);
        next = got.next;
      } while (next !== undefined);
      expect(read).toEqual(whole.entries);
    }
    const created = await page('action=app.created&limit=200');
    expect(created.entries).toHaveLength(7);
    expect(codeOf(await ask(panel, viewer, `/accounts/${accountId}/audit?limit=0`))).toBe('invalid_request');
    const verified = await ask(panel, viewer, `/accounts/${accountId}/audit/verification`);
    expect(verified.status).toBe(200);
  });

  test('operators make accounts and see the service; a disabled account is told to its members', async () => {
    await using panel = await panelMuster(backend);
    const { accountId, owner, operator } = await world(panel);
    const made = await ask(panel, operator, '/accounts', {
      method: 'POST',
      body: { name: 'Acme Second', entitlement: 'enterprise' },
    });
    expect(made.status).toBe(201);
    expect((await ask(panel, operator, '/find?text=acme%20sec')).body['accounts']).toEqual([
      { accountId: made.body['accountId'], name: 'Acme Second' },
    ]);
    const service = await ask(panel, operator, '/service');
    expect(service.status).toBe(200);
    await asOperator(panel.muster, `/accounts/${accountId}`, { method: 'PATCH', body: { disabled: true } });
    const refused = await ask(panel, owner, `/accounts/${accountId}/overview`);
    expect([refused.status, codeOf(refused)]).toEqual([403, 'forbidden']);
    expect((await ask(panel, operator, `/accounts/${accountId}/overview`)).body).toMatchObject({ disabled: true });
  });
});

describe('a request of a browser', () => {
  test.each([
    ['no Origin', { origin: '' }, 403],
    ['the Origin of another site', { origin: 'https://evil.example.com' }, 403],
    ['the Origin null', { origin: 'null' }, 403],
    ['another site by Sec-Fetch-Site', { 'sec-fetch-site': 'cross-site' }, 403],
    ['another host of the site', { 'sec-fetch-site': 'same-site' }, 403],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }, 400],
    ['its own page', { 'sec-fetch-site': 'same-origin' }, 201],
  ])('a write with %s', async (_title, headers, status) => {
    await using panel = await panelMuster();
    const { accountId, owner } = await world(panel);
    const answer = await ask(panel, owner, `/accounts/${accountId}/apps`, {
      method: 'POST',
      body: { name: 'a' },
      headers,
    });
    expect(answer.status).toBe(status);
    const { apps } = (await ask(panel, owner, `/accounts/${accountId}/apps`)).body as { apps: unknown[] };
    expect(apps).toHaveLength(status === 201 ? 1 : 0);
  });

  test('a read that another site makes is refused', async () => {
    await using panel = await panelMuster();
    const { owner } = await world(panel);
    expect((await ask(panel, owner, '/me', { headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(403);
    expect((await ask(panel, owner, '/me', { headers: { 'sec-fetch-site': 'none' } })).status).toBe(200);
  });

  test('a Host that is not the panel’s own, nor literally this machine, is refused', async () => {
    await using panel = await panelMuster();
    const { port } = panel.muster.service.panel;
    const { token } = await signedIn(panel.store);
    const statusOf = async (host: string): Promise<number> => {
      const fields = [`Host: ${host}`, `Cookie: muster_${port}=${token}`, 'Connection: close'];
      return (await exchange(port, `GET /panel/v1/me HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n`)).status;
    };
    for (const host of [`127.0.0.1:${port}`, `LOCALHOST:${port}`])
      expect([host, await statusOf(host)]).toEqual([host, 200]);
    for (const host of [
      `evil.example.com:${port}`,
      `127.0.0.1.evil.example.com:${port}`,
      `localhost.evil.example.com:${port}`,
      `evil-localhost:${port}`,
      '',
    ]) {
      expect([host, await statusOf(host)]).toEqual([host, 400]);
    }
  });
});
