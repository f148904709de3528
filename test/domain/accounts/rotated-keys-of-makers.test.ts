import { expect, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { ask, panelMuster, signedIn, type PanelMuster } from '../../support/panel/panel-users.ts';
import { auditsOf } from '../../support/service/accounts.ts';
import { call, tenant } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { BeforeCommit } from '../../support/store/before-commit.ts';
import { faultyStore, type FaultyStore } from '../../support/store/faulty-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

/* A17: whoever rotates a key knows its secret from then on, and the maker of the former one until that ends. */

const used = async ({ muster }: PanelMuster, apiKey: unknown): Promise<number> =>
  (await call(`${muster.api}/v1/apps`, { token: String(apiKey) })).status;

/** An account with three owners, and a key that the first of them made. */
async function scene(panel: PanelMuster) {
  const { accountId } = await tenant(panel.muster);
  const owner = () => signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] });
  const [ann, bob, eve] = [await owner(), await owner(), await owner()];
  const keys = `/accounts/${accountId}/api-keys`;
  const { body } = await ask(panel, ann, keys, { method: 'POST', body: { name: 'ci' } });
  const rotation = `${keys}/${String(body['keyId'])}/rotation`;
  return {
    ann,
    bob,
    eve,
    accountId,
    keyId: String(body['keyId']),
    apiKey: body['apiKey'],
    audit: () => auditsOf(panel.store, accountId),
    rotate: (by: typeof ann, graceSeconds: number) =>
      ask(panel, by, rotation, { method: 'POST', body: { graceSeconds } }),
    remove: async (by: typeof ann, { userId }: typeof ann) => {
      const gone = await ask(panel, by, `/accounts/${accountId}/members/${userId}`, { method: 'DELETE' });
      expect(gone.status).toBe(204);
    },
  };
}

onEachBackend('a key that another person rotates', (backend) => {
  test('ends where that person goes', async () => {
    await using panel = await panelMuster(backend);
    const { bob, eve, apiKey, rotate, remove } = await scene(panel);
    const rotated = await rotate(bob, 3600);
    expect([rotated.status, await used(panel, apiKey), await used(panel, rotated.body['apiKey'])]).toEqual([
      201, 200, 200,
    ]);
    await remove(eve, bob);
    expect([await used(panel, apiKey), await used(panel, rotated.body['apiKey'])]).toEqual([401, 401]);
  });

  test('loses the former secret where its first maker goes, and goes on by the present one', async () => {
    const clock = new FakeClock(Date.now());
    await using panel = await panelMuster(backend, { clock });
    const [within, after] = [await scene(panel), await scene(panel)];
    const [first, second] = [await within.rotate(within.bob, 60), await after.rotate(after.bob, 60)];
    expect([first.status, second.status]).toEqual([201, 201]);
    await within.remove(within.eve, within.ann);
    expect([await used(panel, within.apiKey), await used(panel, first.body['apiKey'])]).toEqual([401, 200]);
    const changed = (await within.audit()).filter(({ action }) => ['key.changed', 'key.revoked'].includes(action));
    expect(changed).toMatchObject([
      {
        action: 'key.changed',
        detail: { keyId: within.keyId, formerSecret: 'ended', maker: within.ann.userId },
      },
    ]);
    // The key ends with whoever made its present secret.
    await within.remove(within.eve, within.bob);
    expect(await used(panel, first.body['apiKey'])).toBe(401);
    clock.advance(60_000);
    await after.remove(after.eve, after.ann);
    expect([await used(panel, after.apiKey), await used(panel, second.body['apiKey'])]).toEqual([401, 200]);
  });

  test('loses the former secret on a full store as well', async () => {
    let faulty: FaultyStore | undefined;
    await using panel = await panelMuster(backend, { wrapStore: (store) => (faulty = faultyStore(store)) });
    const { ann, bob, eve, apiKey, rotate, remove } = await scene(panel);
    const rotated = await rotate(bob, 3600);
    if (faulty) faulty.full = 0.99;
    await remove(eve, ann);
    expect([await used(panel, apiKey), await used(panel, rotated.body['apiKey'])]).toEqual([401, 200]);
  });

  test('keeps the former secret where that is kept by name, and ends as a whole with who made both', async () => {
    await using panel = await panelMuster(backend);
    const [kept, own] = [await scene(panel), await scene(panel)];
    expect((await kept.rotate(kept.bob, 3600)).status).toBe(201);
    const members = `/accounts/${kept.accountId}/members`;
    const listed = (await ask(panel, kept.eve, `${members}/${kept.ann.userId}/api-keys`)).body['apiKeys'];
    expect(listed).toMatchObject([{ keyId: kept.keyId, createdBy: `user:${kept.bob.userId}` }]);
    const gone = await ask(panel, kept.eve, `${members}/${kept.ann.userId}?keepKeys=${kept.keyId}`, {
      method: 'DELETE',
    });
    expect([gone.status, await used(panel, kept.apiKey)]).toEqual([204, 200]);
    const rotated = await own.rotate(own.ann, 3600);
    expect([rotated.status, await used(panel, own.apiKey)]).toEqual([201, 200]);
    await own.remove(own.eve, own.ann);
    expect([await used(panel, own.apiKey), await used(panel, rotated.body['apiKey'])]).toEqual([401, 401]);
  });

  test('is shown as one of nobody known while the secret that the operator made works, and not after that', async () => {
    const clock = new FakeClock(Date.now());
    await using panel = await panelMuster(backend, { clock });
    const { accountId } = await tenant(panel.muster);
    const [ann, bob] = await Promise.all(
      ['Ann', 'Bob'].map((name) => signedIn(panel.store, { name, accounts: [{ accountId, role: 'owner' }] })),
    );
    if (!ann || !bob) throw new Error('nobody signed in');
    const at = `/accounts/${accountId}`;
    const [key] = (await ask(panel, bob, `${at}/api-keys`)).body['apiKeys'] as { keyId: string }[];
    const keyId = String(key?.keyId);
    const rotated = await ask(panel, bob, `${at}/api-keys/${keyId}/rotation`, {
      method: 'POST',
      body: { graceSeconds: 60 },
    });
    expect(rotated.status).toBe(201);
    const ofNobodyKnown = async () =>
      (await ask(panel, bob, `${at}/members/${ann.userId}/api-keys`)).body['ofNobodyKnown'];
    expect(await ofNobodyKnown()).toMatchObject([{ keyId }]);
    clock.advance(60_000);
    expect(await ofNobodyKnown()).toEqual([]);
  });

  test('is not rotated by a person who goes at that instant', async () => {
    const race = new BeforeCommit(KEYS.account.under());
    await using panel = await panelMuster(backend, { wrapStore: race.wrapStore });
    const { bob, eve, apiKey, rotate, remove } = await scene(panel);
    race.next = async () => await remove(eve, bob);
    const late = await rotate(bob, 0);
    expect([late.status, race.isDone, await used(panel, apiKey)]).toEqual([404, true, 200]);
    expect([(await rotate(eve, 0)).status, await used(panel, apiKey)]).toEqual([201, 401]);
  });
});
