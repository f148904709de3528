import { expect, test } from 'vitest';
import * as z from 'zod';
import { LIMITS } from '../../../src/domain/limits.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { ask, panelMuster, signedIn, type PanelMuster } from '../../support/panel/panel-users.ts';
import { asOperator, codeOf } from '../../support/panel/visitor.ts';
import { deleteApp, revoke, setOtel } from '../../support/service/daemon.ts';
import { createApp, enroll, tenant } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { expectAbsent } from '../../../src/store/port.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';
import { rawPut } from '../../support/store/raw-key.ts';

/* The names that an entry of the audit keeps beside the ids of its actor and its target (docs/CONTRACT.md). */

const ENTRIES = z.object({
  entries: z.array(
    z.looseObject({
      action: z.string(),
      actor: z.string(),
      actorName: z.string().optional(),
      target: z.string().optional(),
      targetName: z.string().optional(),
    }),
  ),
});
const NAME = z.strictObject({ id: z.string(), name: z.string().optional() });
const NAMES = z.object({ actors: z.array(NAME), targets: z.array(NAME), complete: z.boolean() });
type Entry = z.infer<typeof ENTRIES>['entries'][number];

const audit = async ({ muster }: PanelMuster, path: string): Promise<Entry[]> =>
  ENTRIES.parse((await asOperator(muster, `${path}/audit?limit=1000`)).body).entries;
const keyNamed = async ({ muster }: PanelMuster, accountId: string, name: string): Promise<string> =>
  String(
    (await asOperator(muster, `/accounts/${accountId}/api-keys`, { method: 'POST', body: { name } })).body['apiKey'],
  );
const named = ({ actorName, action, target, targetName }: Entry) => [actorName, action, target, targetName];

onEachBackend('the names in the audit', (backend) => {
  test('are those that a person, a key, an app and an account had then: new ones, former ones, and of what is gone', async () => {
    const clock = new FakeClock(Date.now());
    await using panel = await panelMuster(backend, { clock });
    const { muster, store } = panel;
    const { accountId } = await tenant(muster);
    const at = `/accounts/${accountId}`;
    const apiKey = await keyNamed(panel, accountId, 'ci');
    const owner = await signedIn(store, { name: 'Olga', accounts: [{ accountId, role: 'owner' }] });
    const steps: (() => Promise<unknown>)[] = [];
    const made = { appId: '', enrollCode: '', keyId: '' };
    steps.push(
      async () => Object.assign(made, await createApp(muster, apiKey, 'till 7')),
      () => enroll(muster, made),
      () => setOtel(muster, apiKey),
      () => asOperator(muster, at, { method: 'PATCH', body: { name: 'Acme & Söhne' } }),
      async () => {
        const { body } = await ask(panel, owner, `${at}/api-keys`, { method: 'POST', body: { name: 'nightly' } });
        made.keyId = String(body['keyId']);
      },
      () => asOperator(muster, `/users/${owner.userId}`, { method: 'PATCH', body: { name: 'Olga B.' } }),
      () => ask(panel, owner, `${at}/invitations`, { method: 'POST', body: { role: 'viewer' } }),
      () => revoke(muster, apiKey, made.appId),
      () => ask(panel, owner, `${at}/apps/${made.appId}`, { method: 'DELETE' }),
      () => ask(panel, owner, `${at}/api-keys/${made.keyId}`, { method: 'DELETE' }),
      // An app has a name that may be empty: then there is none to tell.
      async () => Object.assign(made, await createApp(muster, apiKey, '')),
      () => deleteApp(muster, apiKey, made.appId),
    );
    const before = (await audit(panel, at)).length;
    for (const step of steps) {
      clock.advance(1000);
      await step();
    }
    const entries = (await audit(panel, at)).slice(before);
    const [app, other] = [...new Set(entries.flatMap(({ target = '' }) => (target.startsWith('app:') ? target : [])))];
    const link = entries.find(({ action }) => action === 'link.created')?.target;
    expect(entries.map(named)).toEqual([
      ['ci', 'app.created', app, 'till 7'],
      ['till 7', 'app.enrolled', app, 'till 7'],
      ['ci', 'otel.stored', `account:${accountId}`, 'tenant'],
      ['operator', 'account.changed', `account:${accountId}`, 'Acme & Söhne'],
      ['Olga', 'key.created', expect.stringMatching(/^key:/), 'nightly'],
      ['Olga B.', 'link.created', link, undefined],
      ['ci', 'app.revoked', app, 'till 7'],
      ['Olga B.', 'app.deleted', app, 'till 7'],
      ['Olga B.', 'key.revoked', expect.stringMatching(/^key:/), 'nightly'],
      ['ci', 'app.created', other, undefined],
      ['ci', 'app.deleted', other, undefined],
    ]);
    expect(link).toMatch(/^link:/);
    const shown = ENTRIES.parse((await ask(panel, owner, `${at}/audit?limit=200`)).body).entries;
    expect(shown.slice(0, entries.length)).toEqual(entries.toReversed());
    const service = (await audit(panel, '')).filter(({ action }) => action === 'user.changed');
    expect(service.map(named)).toEqual([['operator', 'user.changed', `user:${owner.userId}`, 'Olga B.']]);
  });

  test('a user who is made, and one who is deleted, has a name in the entry of it; an export names its account', async () => {
    await using panel = await panelMuster(backend);
    const { accountId } = await tenant(panel.muster);
    const user = { name: 'Ada', login: 'ada@example.com', operator: false };
    const made = await asOperator(panel.muster, '/users', { method: 'POST', body: user });
    const { userId } = z.object({ user: z.looseObject({ userId: z.string() }) }).parse(made.body).user;
    expect((await asOperator(panel.muster, `/users/${userId}`, { method: 'DELETE' })).status).toBe(204);
    await audit(panel, `/accounts/${accountId}`);
    const told = (await audit(panel, '')).filter(({ action }) => !action.startsWith('session.')).map(named);
    // Two entries of one commit have no order.
    expect([
      ...told.slice(0, 2).toSorted((a, b) => (String(a[1]) < String(b[1]) ? -1 : 1)),
      ...told.slice(2, 4),
    ]).toEqual([
      ['operator', 'link.created', `user:${userId}`, 'Ada'],
      ['operator', 'user.created', `user:${userId}`, 'Ada'],
      ['operator', 'user.deleted', `user:${userId}`, 'Ada'],
      ['operator', 'audit.exported', `account:${accountId}`, 'tenant'],
    ]);
  });

  test('entries of earlier versions have ids alone, and the chain holds over them and those with names', async () => {
    const clock = new FakeClock();
    await using panel = await panelMuster(backend, { clock });
    const { muster, store } = panel;
    const { accountId } = await tenant(muster);
    const apiKey = await keyNamed(panel, accountId, 'ci');
    const [actor, requestId] = ['user:p7q2r9s4t1u6v3w8', 'r'];
    const appId = 'k3v9x0q2m7t5b8n1c4d6';
    const former = { at: clock.now(), actor, action: 'app.deleted', appId, requestId, detail: { from: 'active' } };
    const key = KEYS.audit(accountId, former.at, 'f0'.repeat(16));
    await store.commit({ expect: [expectAbsent(key)], write: [rawPut(key, former)] });
    clock.advance(1000);
    await createApp(muster, apiKey, 'new');
    const verified = async () => (await asOperator(muster, `/accounts/${accountId}/audit/verification`)).body;
    await until(async () => {
      clock.advance(1000);
      return (await verified())['unsealed'] === 0;
    });
    expect(await verified()).toMatchObject({ faults: [], faultCount: 0, entries: 5 });
    const entries = await audit(panel, `/accounts/${accountId}`);
    expect(entries.filter(({ action }) => action === 'app.deleted').map(named)).toEqual([
      [undefined, 'app.deleted', `app:${appId}`, undefined],
    ]);
    expect(entries.at(-1)).toMatchObject({ actorName: 'ci', action: 'app.created', targetName: 'new' });
  });

  test('tell by whom and by what an audit can be filtered: those of now by their names of now, and those that are gone', async () => {
    const clock = new FakeClock(Date.now());
    await using panel = await panelMuster(backend, { clock });
    const { muster, store } = panel;
    const { accountId } = await tenant(muster);
    const at = `/accounts/${accountId}`;
    const apiKey = await keyNamed(panel, accountId, 'ci');
    const owner = await signedIn(store, { name: 'Olga', accounts: [{ accountId, role: 'owner' }] });
    const viewer = await signedIn(store, { name: 'Vera', accounts: [{ accountId, role: 'viewer' }] });
    const operator = await signedIn(store, { name: 'Otto', operator: true });
    const stranger = await signedIn(store, { name: 'Stan' });
    const app = await createApp(muster, apiKey, 'till 7');
    const stays = await createApp(muster, apiKey, 'till 8');
    await deleteApp(muster, apiKey, app.appId);
    const made = await ask(panel, owner, `${at}/api-keys`, { method: 'POST', body: { name: 'nightly' } });
    const keyId = String(made.body['keyId']);
    await ask(panel, operator, `${at}/api-keys/${keyId}`, { method: 'DELETE' });
    await asOperator(muster, `/users/${owner.userId}`, { method: 'PATCH', body: { name: 'Olga B.' } });
    const read = async (path: string, by = viewer) => NAMES.parse((await ask(panel, by, path)).body);
    const { actors, targets, complete } = await read(`${at}/audit/names`);
    const ofNow = [
      ['Olga B.', `user:${owner.userId}`],
      ['Vera', `user:${viewer.userId}`],
    ];
    expect(complete).toBe(true);
    expect(actors.map(({ id, name }) => [name, id])).toEqual([
      ofNow[0],
      ['Otto', `user:${operator.userId}`],
      ofNow[1],
      ['ci', expect.stringMatching(/^key:/)],
      ['operator', 'operator'],
      [undefined, expect.stringMatching(/^key:/)],
    ]);
    expect(targets.map(({ id, name }) => [name, id])).toEqual([
      ...ofNow,
      ['ci', expect.stringMatching(/^key:/)],
      ['nightly', `key:${keyId}`],
      ['tenant', `account:${accountId}`],
      ['till 7', `app:${app.appId}`],
      [undefined, expect.stringMatching(/^key:/)],
    ]);
    // Each of them is a filter that finds its entries, and no others.
    const whole = ENTRIES.parse((await ask(panel, viewer, `${at}/audit?limit=200`)).body).entries;
    for (const [field, names] of [['actor', actors] as const, ['target', targets] as const]) {
      for (const { id } of names) {
        const { body } = await ask(panel, viewer, `${at}/audit?limit=200&${field}=${encodeURIComponent(id)}`);
        expect([id, ENTRIES.parse(body).entries]).toEqual([id, whole.filter((entry) => entry[field] === id)]);
      }
    }
    expect(whole.filter(({ target }) => target === `app:${stays.appId}`)).toHaveLength(1);
    for (const target of ['key:', 'key:A', 'nothing:a', 'app:a/b', `app:${'a'.repeat(41)}`]) {
      const refused = await ask(panel, viewer, `${at}/audit?target=${encodeURIComponent(target)}`);
      expect([target, codeOf(refused)]).toEqual([target, 'invalid_request']);
    }
    const service = await read('/audit/names', operator);
    expect(service.actors).toContainEqual({ id: `user:${operator.userId}`, name: 'Otto' });
    expect(service.targets).toContainEqual({ id: `user:${owner.userId}`, name: 'Olga B.' });
    expect(codeOf(await ask(panel, stranger, `${at}/audit/names`))).toBe('not_found');
    expect(codeOf(await ask(panel, viewer, '/audit/names'))).toBe('forbidden');
  });

  test('are at most so many, those of now before those of the entries', async () => {
    await using panel = await panelMuster(backend);
    const { accountId } = await tenant(panel.muster);
    const owner = await signedIn(panel.store, { name: 'Olga', accounts: [{ accountId, role: 'owner' }] });
    const now = Date.now();
    const many = Array.from({ length: LIMITS.auditNamesMax + 1 }, (_, index) => {
      const key = KEYS.audit(accountId, now + index, `f0${String(index).padStart(4, '0')}`);
      const actor = `user:${String(index).padStart(16, '0')}`;
      return {
        key,
        entry: { at: now + index, actor, actorName: `n${index}`, action: 'otel.purged', requestId: 'r', detail: {} },
      };
    });
    for (const { key, entry } of many) {
      await panel.store.commit({ expect: [expectAbsent(key)], write: [rawPut(key, entry)] });
    }
    const read = await ask(panel, owner, `/accounts/${accountId}/audit/names`);
    const { actors, complete } = NAMES.parse(read.body);
    expect([actors.length, complete]).toEqual([LIMITS.auditNamesMax, false]);
    expect(actors).toContainEqual({ id: `user:${owner.userId}`, name: 'Olga' });
    expect(actors).not.toContainEqual(expect.objectContaining({ name: 'n0' }));
  });
});
