import { expect, test } from 'vitest';
import type { Store } from '../../../../src/store/port.ts';
import { KEYS } from '../../../../src/domain/records/keys.ts';
import type { UserRecord } from '../../../../src/domain/records/user-records.ts';
import {
  ask,
  panelMuster,
  rewrite,
  signedIn,
  type Browser,
  type PanelMuster,
} from '../../../support/panel/panel-users.ts';
import { askBy, askForToken, makeToken, type AccessToken } from '../../../support/panel/access-tokens/tokens.ts';
import { asOperator, codeOf } from '../../../support/panel/visitor.ts';
import { tenant, type Answer } from '../../../support/service/muster.ts';
import { onEachBackend, type Backend } from '../../../support/store/backends.ts';
import { BeforeCommit } from '../../../support/store/before-commit.ts';
import { wrappedStore } from '../../../support/store/wrapped-store.ts';
import { until } from '../../../support/time/until.ts';

/* A12, A17: an access token ends with its revocation, its person, the role and the account. */

interface Scene {
  readonly panel: PanelMuster;
  readonly accountId: string;
  readonly ann: Browser;
  readonly bob: Browser;
  readonly op: Browser;
}

async function sceneOf(panel: PanelMuster): Promise<Scene> {
  const { accountId } = await tenant(panel.muster);
  const owner = () => signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] });
  const [ann, bob] = [await owner(), await owner()];
  const op = await signedIn(panel.store, { operator: true });
  await signedIn(panel.store, { operator: true });
  return { panel, accountId, ann, bob, op };
}

interface Ending {
  readonly name: string;
  readonly who: 'ann' | 'op';
  readonly status: number;
  readonly act: (scene: Scene, token: AccessToken) => Promise<Answer>;
  /** Gives back what was taken; the token stays dead, unless the account alone was disabled. */
  readonly undo?: (scene: Scene) => Promise<Answer>;
  readonly lives?: true;
}

const member = ({ accountId, ann }: Scene): string => `/accounts/${accountId}/members/${ann.userId}`;
const change = ({ panel }: Scene, userId: string, body: object): Promise<Answer> =>
  asOperator(panel.muster, `/users/${userId}`, { method: 'PATCH', body });
const changeAccount = ({ panel, accountId }: Scene, disabled: boolean): Promise<Answer> =>
  asOperator(panel.muster, `/accounts/${accountId}`, { method: 'PATCH', body: { disabled } });

const ENDINGS: readonly Ending[] = [
  {
    name: 'is revoked',
    who: 'ann',
    status: 204,
    act: ({ panel, ann }, { tokenId }) => ask(panel, ann, `/me/access-tokens/${tokenId}`, { method: 'DELETE' }),
  },
  {
    name: 'is of a person who is removed from the account',
    who: 'ann',
    status: 204,
    act: (scene) => ask(scene.panel, scene.bob, member(scene), { method: 'DELETE' }),
    async undo({ panel, accountId, ann }) {
      await rewrite(panel, KEYS.members(accountId), (record) => ({
        ...record,
        members: [...(record['members'] as object[]), { userId: ann.userId, role: 'owner', since: Date.now() }],
      }));
      return await asOperator(panel.muster, '/users');
    },
  },
  {
    name: 'is of a person who is disabled',
    who: 'ann',
    status: 200,
    act: (scene) => change(scene, scene.ann.userId, { disabled: true }),
    undo: (scene) => change(scene, scene.ann.userId, { disabled: false }),
  },
  {
    name: 'is of a person who is deleted',
    who: 'ann',
    status: 204,
    act: ({ panel, ann }) => asOperator(panel.muster, `/users/${ann.userId}`, { method: 'DELETE' }),
  },
  {
    name: 'is of an operator who is none any more',
    who: 'op',
    status: 200,
    act: (scene) => change(scene, scene.op.userId, { operator: false }),
    undo: (scene) => change(scene, scene.op.userId, { operator: true }),
  },
  {
    name: 'is of an operator who is deleted',
    who: 'op',
    status: 204,
    act: ({ panel, op }) => asOperator(panel.muster, `/users/${op.userId}`, { method: 'DELETE' }),
  },
  {
    name: 'is of a disabled account',
    who: 'ann',
    status: 200,
    act: (scene) => changeAccount(scene, true),
    undo: (scene) => changeAccount(scene, false),
    lives: true,
  },
  {
    name: 'is an operator’s, of a disabled account',
    who: 'op',
    status: 200,
    act: (scene) => changeAccount(scene, true),
    undo: (scene) => changeAccount(scene, false),
    lives: true,
  },
];

const read = async (panel: PanelMuster, token: AccessToken, accountId: string): Promise<number> =>
  (await askBy(panel, token, `/accounts/${accountId}/overview`)).status;
const write = (panel: PanelMuster, token: AccessToken, accountId: string): Promise<Answer> =>
  askBy(panel, token, `/accounts/${accountId}/apps`, { method: 'POST', body: { name: 'a' } });

const WRITERS = 6;

/** Two replicas of one store; on the embedded store one stands for both. */
async function replicas(backend: Backend) {
  const place = backend.place();
  const fresh = { fresh: (options = {}) => backend.fresh({ ...place, ...options }) };
  const first = await panelMuster(fresh);
  const second = backend.name === 'sqlite' ? first : await panelMuster(fresh);
  return {
    first,
    second,
    async [Symbol.asyncDispose]() {
      await Promise.all([...new Set([first, second])].map((one) => one[Symbol.asyncDispose]()));
    },
  };
}

onEachBackend('the end of an access token', (backend) => {
  test.each(ENDINGS)(
    'no replica accepts one after the answer that $name',
    async ({ who, status, act, undo, lives }) => {
      await using pair = await replicas(backend);
      const { first, second } = pair;
      const scene = await sceneOf(first);
      const { accountId } = scene;
      const token = await makeToken(first, scene[who], { accountId, role: 'owner' });
      await until(async () => (await read(second, token, accountId)) === 200);
      let answered = false;
      let accepted = 0;
      const storm = Array.from({ length: WRITERS }, async () => {
        for (let after = 0; after < 3;) {
          const isAfter = answered;
          const { status: got } = await write(second, token, accountId);
          if (isAfter) after += 1;
          if (isAfter && got < 400) accepted += 1;
        }
      });
      const answer = await act(scene, token);
      answered = true;
      expect([answer.status, answer.text]).toEqual([status, expect.any(String)]);
      await Promise.all(storm);
      expect(accepted).toBe(0);
      const after = lives ? 403 : 401;
      expect(await read(second, token, accountId)).toBe(after);
      expect((await first.store.get(KEYS.accessToken(token.tokenId))) !== undefined).toBe(lives === true);
      if (!undo) return;
      expect((await undo(scene)).status).toBe(200);
      await until(async () => (await read(second, token, accountId)) === (lives ? 200 : 401));
      expect(await read(first, token, accountId)).toBe(lives ? 200 : 401);
    },
  );

  test('is in the audit of its account where the person goes, and other persons keep theirs', async () => {
    await using panel = await panelMuster(backend);
    const scene = await sceneOf(panel);
    const { accountId, ann, bob } = scene;
    const [one, two] = [await makeToken(panel, ann, { accountId }), await makeToken(panel, ann, { accountId })];
    const ofBob = await makeToken(panel, bob, { accountId });
    const elsewhere = await tenant(panel.muster);
    await rewrite(panel, KEYS.members(elsewhere.accountId), () => ({
      members: [{ userId: ann.userId, role: 'viewer', since: 1 }],
    }));
    const other = await makeToken(panel, ann, { accountId: elsewhere.accountId });
    expect((await ask(panel, bob, member(scene), { method: 'DELETE' })).status).toBe(204);
    const states = [one, two, ofBob].map((token) => read(panel, token, accountId));
    expect(await Promise.all(states)).toEqual([401, 401, 200]);
    expect(await read(panel, other, elsewhere.accountId)).toBe(200);
    const { entries } = (await asOperator(panel.muster, `/accounts/${accountId}/audit`)).body as {
      entries: { action: string; detail: { tokenId?: string; maker?: string } }[];
    };
    const revoked = entries.filter(({ action }) => action === 'access-token.revoked');
    expect(new Set(revoked.map(({ detail }) => detail.tokenId))).toEqual(new Set([one.tokenId, two.tokenId]));
    expect(revoked).toHaveLength(2);
    expect(new Set(revoked.map(({ detail }) => detail.maker))).toEqual(new Set([ann.userId]));
  });

  test('more than one commit has room for end before the role does', async () => {
    await using panel = await panelMuster(backend);
    const scene = await sceneOf(panel);
    const { accountId, ann, bob } = scene;
    const makeAll = async () => {
      const tokens: AccessToken[] = [];
      for (let made = 0; made < 20; made += 1) tokens.push(await makeToken(panel, ann, { accountId }));
      return tokens;
    };
    const tokens = await makeAll();
    for (let made = 0; made < 3; made += 1) {
      const key = await ask(panel, ann, `/accounts/${accountId}/api-keys`, { method: 'POST', body: { name: 'ci' } });
      expect(key.status).toBe(201);
    }
    expect((await ask(panel, bob, member(scene), { method: 'DELETE' })).status).toBe(204);
    expect(new Set(await Promise.all(tokens.map((token) => read(panel, token, accountId))))).toEqual(new Set([401]));
    const left = (await ask(panel, bob, `/accounts/${accountId}/api-keys`)).body['apiKeys'] as { createdBy: string }[];
    expect(left.filter(({ createdBy }) => createdBy === `user:${ann.userId}`)).toEqual([]);
  });

  test('a role by groups that ends by itself is judged at each request', async () => {
    await using panel = await panelMuster(backend);
    const { accountId } = await tenant(panel.muster);
    const mapped = (at: number): Pick<UserRecord, 'mapped'> => ({
      mapped: { operator: false, accounts: [{ accountId, role: 'owner' }], at },
    });
    const ann = await signedIn(panel.store, { record: mapped(Date.now()) });
    const token = await makeToken(panel, ann, { accountId, role: 'owner' });
    expect(await read(panel, token, accountId)).toBe(200);
    await rewrite(panel, KEYS.user(ann.userId), (record) => ({ ...record, ...mapped(Date.now() - 3_700_000) }));
    expect(await read(panel, token, accountId)).toBe(403);
    await rewrite(panel, KEYS.user(ann.userId), (record) => ({ ...record, ...mapped(Date.now()) }));
    expect(await read(panel, token, accountId)).toBe(200);
  });

  test('whoever goes by their own token keeps no API keys', async () => {
    await using panel = await panelMuster(backend);
    const scene = await sceneOf(panel);
    const { accountId, ann } = scene;
    const key = await ask(panel, ann, `/accounts/${accountId}/api-keys`, { method: 'POST', body: { name: 'ci' } });
    const token = await makeToken(panel, ann, { accountId, role: 'owner' });
    const leave = (keep: string) => askBy(panel, token, `${member(scene)}${keep}`, { method: 'DELETE' });
    const kept = await leave(`?keepKeys=${String(key.body['keyId'])}`);
    expect([kept.status, codeOf(kept)]).toEqual([409, 'conflict']);
    expect((await leave('')).status).toBe(204);
    expect(await read(panel, token, accountId)).toBe(401);
  });

  test.each<[what: string, act: (scene: Scene, token: AccessToken) => Promise<unknown>]>([
    ['revoked', ({ panel, ann }, { tokenId }) => ask(panel, ann, `/me/access-tokens/${tokenId}`, { method: 'DELETE' })],
    ['of a disabled person', (scene) => change(scene, scene.ann.userId, { disabled: true })],
    [
      'of a viewer',
      (scene) =>
        rewrite(scene.panel, KEYS.members(scene.accountId), ({ members, ...record }) => ({
          ...record,
          members: (members as { userId: string }[]).map((one) =>
            one.userId === scene.ann.userId ? { ...one, role: 'viewer' } : one,
          ),
        })),
    ],
    ['of a disabled account', (scene) => changeAccount(scene, true)],
  ])('a change is not committed where its token is %s meanwhile', async (_what, act) => {
    const beforeCommit = new BeforeCommit('d/a/');
    await using panel = await panelMuster(backend, { wrapStore: beforeCommit.wrapStore });
    const scene = await sceneOf(panel);
    const { accountId, ann } = scene;
    const token = await makeToken(panel, ann, { accountId, role: 'owner' });
    beforeCommit.next = async () => await act(scene, token);
    const answer = await write(panel, token, accountId);
    expect(beforeCommit.isDone).toBe(true);
    expect([401, 403]).toContain(answer.status);
    const apps = await ask(panel, scene.bob, `/accounts/${accountId}/apps`);
    expect((apps.body['apps'] as unknown[] | undefined) ?? []).toEqual([]);
  });

  test.each<[what: string, act: (scene: Scene) => Promise<unknown>, status: number]>([
    ['is removed', (scene) => ask(scene.panel, scene.bob, member(scene), { method: 'DELETE' }), 404],
    ['is disabled', (scene) => change(scene, scene.ann.userId, { disabled: true }), 401],
    [
      'becomes a viewer',
      (scene) => ask(scene.panel, scene.bob, member(scene), { method: 'PATCH', body: { role: 'viewer' } }),
      403,
    ],
  ])('none is made by a person who %s meanwhile', async (_what, act, status) => {
    const beforeCommit = new BeforeCommit(KEYS.accessToken.under());
    await using panel = await panelMuster(backend, { wrapStore: beforeCommit.wrapStore });
    const scene = await sceneOf(panel);
    const { accountId, ann } = scene;
    beforeCommit.next = async () => await act(scene);
    const answer = await askForToken(panel, ann, { accountId, role: 'owner' });
    expect([beforeCommit.isDone, answer.status]).toEqual([true, status]);
    const { entries } = await panel.store.list({ prefix: KEYS.accessToken.under(), limit: 10 });
    expect(entries).toEqual([]);
  });

  test.each<[what: string, status: number, act: (scene: Scene) => Promise<Answer>, prefix: (id: string) => string]>([
    [
      'is removed',
      204,
      (scene) => ask(scene.panel, scene.bob, member(scene), { method: 'DELETE' }),
      (accountId) => KEYS.members(accountId),
    ],
    ['is disabled', 200, (scene) => change(scene, scene.ann.userId, { disabled: true }), () => KEYS.user.under()],
  ])('one that is made while its person %s ends with the others', async (_what, status, act, prefix) => {
    let beforeCommit: BeforeCommit | undefined;
    await using panel = await panelMuster(backend, {
      wrapStore: (store) => wrappedStore(store, { commit: (change) => hooked(store).commit(change) }),
    });
    const scene = await sceneOf(panel);
    beforeCommit = new BeforeCommit(prefix(scene.accountId));
    const made: AccessToken[] = [];
    beforeCommit.next = async () => void made.push(await makeToken(panel, scene.ann, { accountId: scene.accountId }));
    expect((await act(scene)).status).toBe(status);
    expect(made).toHaveLength(1);
    for (const token of made) expect(await read(panel, token, scene.accountId)).toBe(401);

    function hooked(store: Store): Store {
      return beforeCommit?.wrapStore(store) ?? store;
    }
  });
});
