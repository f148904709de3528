import { expect, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { ask, panelMuster, signedIn, type Browser, type PanelMuster } from '../../support/panel/panel-users.ts';
import { asOperator } from '../../support/panel/visitor.ts';
import { call, tenant, type Call } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { BeforeCommit } from '../../support/store/before-commit.ts';

/* A17: the API keys of an owner or operator who goes end with the answer, unless each is kept by name. */

interface Key {
  readonly keyId: string;
  readonly apiKey: string;
}

async function makeKey(panel: PanelMuster, by: Browser, accountId: string, name = 'ci'): Promise<Key> {
  const made = await ask(panel, by, `/accounts/${accountId}/api-keys`, { method: 'POST', body: { name } });
  expect([made.status, made.text]).toEqual([201, expect.any(String)]);
  return made.body as unknown as Key;
}

const used = async ({ muster }: PanelMuster, { apiKey }: Pick<Key, 'apiKey'>): Promise<number> =>
  (await call(`${muster.api}/v1/apps`, { token: apiKey })).status;

/** The people of an account with two owners, an operator and a further one. */
async function people(panel: PanelMuster) {
  const { accountId, apiKey } = await tenant(panel.muster);
  const owner = () => signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] });
  const [ann, bob] = [await owner(), await owner()];
  const op = await signedIn(panel.store, { operator: true });
  await signedIn(panel.store, { operator: true });
  return { accountId, apiKey, ann, bob, op };
}
type People = Awaited<ReturnType<typeof people>>;

interface Going {
  readonly name: string;
  readonly status: number;
  /** Ends the right of `ann`, or of `op`; `keep` names keys. */
  readonly act: (panel: PanelMuster, people: People, keep?: readonly string[]) => ReturnType<typeof ask>;
  readonly who: 'ann' | 'op';
}

/** A change that somebody makes to themselves. */
type OwnDeed = (people: People, keep?: readonly string[]) => [path: string, request: Call];

const kept = (keepKeys: readonly string[] | undefined) => keepKeys && { keepKeys };
const asked = (keepKeys: readonly string[] | undefined): string => (keepKeys ? `?keepKeys=${keepKeys.join(',')}` : '');

const GOINGS: readonly Going[] = [
  {
    name: 'is removed from the account',
    who: 'ann',
    status: 204,
    act: (panel, { accountId, ann, bob }, keep) =>
      ask(panel, bob, `/accounts/${accountId}/members/${ann.userId}${asked(keep)}`, { method: 'DELETE' }),
  },
  {
    name: 'becomes a viewer',
    who: 'ann',
    status: 204,
    act: (panel, { accountId, ann, bob }, keep) =>
      ask(panel, bob, `/accounts/${accountId}/members/${ann.userId}`, {
        method: 'PATCH',
        body: { role: 'viewer', ...kept(keep) },
      }),
  },
  {
    name: 'is disabled',
    who: 'ann',
    status: 200,
    act: ({ muster }, { ann }, keep) =>
      asOperator(muster, `/users/${ann.userId}`, { method: 'PATCH', body: { disabled: true, ...kept(keep) } }),
  },
  {
    name: 'is deleted by the operator API',
    who: 'ann',
    status: 204,
    act: ({ muster }, { ann }, keep) => asOperator(muster, `/users/${ann.userId}${asked(keep)}`, { method: 'DELETE' }),
  },
  {
    name: 'is deleted in the panel',
    who: 'ann',
    status: 204,
    act: (panel, { ann, op }, keep) => ask(panel, op, `/users/${ann.userId}${asked(keep)}`, { method: 'DELETE' }),
  },
  {
    name: 'is an operator no more',
    who: 'op',
    status: 200,
    act: ({ muster }, { op }, keep) =>
      asOperator(muster, `/users/${op.userId}`, { method: 'PATCH', body: { operator: false, ...kept(keep) } }),
  },
  {
    name: 'was an operator and is deleted',
    who: 'op',
    status: 204,
    act: ({ muster }, { op }, keep) => asOperator(muster, `/users/${op.userId}${asked(keep)}`, { method: 'DELETE' }),
  },
];

onEachBackend('the API keys of somebody who goes', (backend) => {
  test.each(GOINGS)(
    'end with the answer where the person $name, but for those that are kept by name',
    async (going) => {
      await using panel = await panelMuster(backend);
      const scene = await people(panel);
      const { accountId, bob } = scene;
      const [first, second] = [
        await makeKey(panel, scene[going.who], accountId, 'first'),
        await makeKey(panel, scene[going.who], accountId, 'second'),
      ];
      const ofBob = await makeKey(panel, bob, accountId, 'of bob');

      const none = await going.act(panel, scene, [ofBob.keyId]);
      expect([none.status, none.body['error']]).toMatchObject([409, { code: 'conflict' }]);
      expect([await used(panel, first), await used(panel, second)]).toEqual([200, 200]);

      const answer = await going.act(panel, scene, [second.keyId]);
      expect([answer.status, answer.text]).toEqual([going.status, expect.any(String)]);
      const after = [first, second, ofBob, scene].map((key) => used(panel, key));
      expect(await Promise.all(after)).toEqual([401, 200, 200, 200]);
      const audit = await asOperator(panel.muster, `/accounts/${accountId}/audit`);
      const revoked = (audit.body['entries'] as { action: string; detail: object }[]).filter(
        ({ action }) => action === 'key.revoked',
      );
      expect(revoked.map(({ detail }) => detail)).toEqual([{ keyId: first.keyId, maker: scene[going.who].userId }]);
      // The entry of the change tells which go on.
      const service = await asOperator(panel.muster, '/audit?limit=1000');
      const entries = [audit, service].flatMap(({ body }) => body['entries'] as { detail: object }[]);
      const telling = entries.filter(({ detail }) => 'keptKeys' in detail);
      expect(telling.length).toBeGreaterThan(0);
      for (const { detail } of telling) {
        expect(detail).toMatchObject({ userId: scene[going.who].userId, keptKeys: second.keyId });
      }
    },
  );

  test.each<[deed: string, who: 'ann' | 'op', status: number, act: OwnDeed]>([
    [
      'leaves the account',
      'ann',
      204,
      ({ accountId, ann }, keep) => [
        `/accounts/${accountId}/members/${ann.userId}${asked(keep)}`,
        { method: 'DELETE' },
      ],
    ],
    [
      'becomes a viewer',
      'ann',
      204,
      ({ accountId, ann }, keep) => [
        `/accounts/${accountId}/members/${ann.userId}`,
        { method: 'PATCH', body: { role: 'viewer', ...kept(keep) } },
      ],
    ],
    [
      'is an operator no more',
      'op',
      200,
      ({ op }, keep) => [`/users/${op.userId}`, { method: 'PATCH', body: { operator: false, ...kept(keep) } }],
    ],
    [
      'is disabled',
      'op',
      200,
      ({ op }, keep) => [`/users/${op.userId}`, { method: 'PATCH', body: { disabled: true, ...kept(keep) } }],
    ],
  ])('are kept by nobody who %s by their own deed', async (_deed, who, status, act) => {
    await using panel = await panelMuster(backend);
    const scene = await people(panel);
    const key = await makeKey(panel, scene[who], scene.accountId);
    const refused = await ask(panel, scene[who], ...act(scene, [key.keyId]));
    expect([refused.status, refused.body['error']]).toMatchObject([409, { code: 'conflict' }]);
    expect([(await ask(panel, scene[who], '/me')).status, await used(panel, key)]).toEqual([200, 200]);
    expect((await ask(panel, scene[who], ...act(scene))).status).toBe(status);
    expect(await used(panel, key)).toBe(401);
  });

  test('are as good as before where the person keeps the right in another way', async () => {
    await using panel = await panelMuster(backend);
    const { accountId, ann, op } = await people(panel);
    const key = await makeKey(panel, ann, accountId);
    await asOperator(panel.muster, `/users/${ann.userId}`, { method: 'PATCH', body: { operator: true } });
    const path = `/accounts/${accountId}/members/${ann.userId}`;
    expect((await ask(panel, op, path, { method: 'DELETE' })).status).toBe(204);
    expect(await used(panel, key)).toBe(200);
    const demoted = await asOperator(panel.muster, `/users/${ann.userId}`, {
      method: 'PATCH',
      body: { operator: false },
    });
    expect([demoted.status, await used(panel, key)]).toEqual([200, 401]);
  });

  test('are as good as before where the user is renamed', async () => {
    await using panel = await panelMuster(backend);
    const { accountId, ann } = await people(panel);
    const key = await makeKey(panel, ann, accountId);
    const renamed = await asOperator(panel.muster, `/users/${ann.userId}`, { method: 'PATCH', body: { name: 'Anna' } });
    expect([renamed.status, await used(panel, key)]).toEqual([200, 200]);
  });

  test('end all, however many there are and on however many accounts', async () => {
    await using panel = await panelMuster(backend);
    const { accountId, op } = await people(panel);
    const other = (await tenant(panel.muster)).accountId;
    const keys: Key[] = [];
    for (let index = 0; index < 130; index += 1) {
      keys.push(await makeKey(panel, op, index % 2 === 0 ? accountId : other, `key ${index}`));
    }
    const answer = await asOperator(panel.muster, `/users/${op.userId}`, { method: 'DELETE' });
    expect([answer.status, answer.text]).toEqual([204, '']);
    const statuses = await Promise.all(keys.map((key) => used(panel, key)));
    expect(statuses.filter((status) => status !== 401)).toEqual([]);
  });

  test('end where they are made while the person goes, or are not made', async () => {
    const race = new BeforeCommit('audit/operator/');
    await using panel = await panelMuster(backend, { wrapStore: race.wrapStore });
    const { accountId, op } = await people(panel);
    let late: Key | undefined;
    race.next = async () => {
      late = await makeKey(panel, op, accountId, 'late');
    };
    const demoted = await asOperator(panel.muster, `/users/${op.userId}`, {
      method: 'PATCH',
      body: { operator: false },
    });
    expect([demoted.status, race.isDone]).toEqual([200, true]);
    expect(await used(panel, late ?? { apiKey: '' })).toBe(401);

    const beaten = new BeforeCommit(KEYS.account.under());
    await using second = await panelMuster(backend, { wrapStore: beaten.wrapStore });
    const scene = await people(second);
    beaten.next = async () => {
      const path = `/accounts/${scene.accountId}/members/${scene.ann.userId}`;
      expect((await ask(second, scene.bob, path, { method: 'DELETE' })).status).toBe(204);
    };
    const tooLate = await ask(second, scene.ann, `/accounts/${scene.accountId}/api-keys`, {
      method: 'POST',
      body: { name: 'too late' },
    });
    expect(tooLate.status).toBe(404);
  });

  test('are listed for whoever ends the right, and keys of nobody known as such', async () => {
    await using panel = await panelMuster(backend);
    const { accountId, ann, bob, op } = await people(panel);
    const made = await makeKey(panel, ann, accountId, 'of ann');
    await makeKey(panel, bob, accountId, 'of bob');
    const unknown = (await ask(panel, bob, `/accounts/${accountId}/api-keys`)).body['apiKeys'] as {
      keyId: string;
      createdBy?: string;
    }[];
    const byToken = unknown.find(({ createdBy }) => createdBy === 'operator');
    const expected = {
      apiKeys: [
        expect.objectContaining({
          keyId: made.keyId,
          accountId,
          name: 'of ann',
          createdByName: 'Ann',
          expiresAt: null,
          lastUsedAt: null,
        }),
      ],
      ofNobodyKnown: [expect.objectContaining({ keyId: byToken?.keyId, accountId, createdBy: 'operator' })],
      accessTokens: [],
      more: false,
    };
    const inAccount = await ask(panel, bob, `/accounts/${accountId}/members/${ann.userId}/api-keys`);
    expect([inAccount.status, inAccount.body]).toEqual([200, expected]);
    const ofUser = await ask(panel, op, `/users/${ann.userId}/api-keys`);
    expect([ofUser.status, ofUser.body]).toEqual([200, expected]);
    const byApi = await asOperator(panel.muster, `/users/${ann.userId}/api-keys`);
    expect([byApi.status, byApi.body]).toEqual([200, expected]);

    const stranger = await signedIn(panel.store);
    expect((await ask(panel, stranger, `/accounts/${accountId}/members/${ann.userId}/api-keys`)).status).toBe(404);
    expect((await ask(panel, bob, `/users/${ann.userId}/api-keys`)).status).toBe(403);
    expect((await ask(panel, bob, `/accounts/${accountId}/members/zzzzzzzzzzzzzzzz/api-keys`)).status).toBe(404);
  });
});
