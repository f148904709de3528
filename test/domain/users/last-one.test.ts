import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { WITHOUT_PASSWORDS } from '../../support/concurrent/user-settings.ts';
import {
  ask,
  panelMuster,
  putUser,
  signedIn,
  type PanelMuster,
  type UserOptions,
} from '../../support/panel/panel-users.ts';
import { asOperator, tokenOf } from '../../support/panel/visitor.ts';
import { tenant, type Answer } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';

/*
 * A17: an account that has an owner, and an installation that has operators, keep one who can sign in. Passwords are
 * off here, so that a link may reset a user without one.
 */

const passkey = () => [{ id: `passkey-${randomUUID()}`, publicKey: '', name: 'key', createdAt: 1 }];

/** Makes someone who can sign in by a passkey. */
const able = (panel: PanelMuster, place: UserOptions) =>
  putUser(panel.store, { ...place, record: { passkeys: passkey() } });

interface Loss {
  readonly name: string;
  readonly good: number;
  readonly act: (panel: PanelMuster, userId: string, accountId: string) => Promise<Answer>;
}

const disables: Loss = {
  name: 'disabled',
  good: 200,
  act: ({ muster }, userId) => asOperator(muster, `/users/${userId}`, { method: 'PATCH', body: { disabled: true } }),
};
const deletes: Loss = {
  name: 'deleted',
  good: 204,
  act: ({ muster }, userId) => asOperator(muster, `/users/${userId}`, { method: 'DELETE' }),
};
const resets: Loss = {
  name: 'reset by a link without a password',
  good: 200,
  async act(panel, userId) {
    const made = await asOperator(panel.muster, `/users/${userId}/reset`, { method: 'POST' });
    const token = tokenOf(made.body['url']);
    return await ask(panel, undefined, '/links/accept', { method: 'POST', body: { token } });
  },
};
const asMember =
  (method: string, body?: object): Loss['act'] =>
  async (panel, userId, accountId) => {
    const op = await signedIn(panel.store, { operator: true });
    return await ask(panel, op, `/accounts/${accountId}/members/${userId}`, { method, ...(body && { body }) });
  };
const OF_OWNERS: readonly Loss[] = [
  disables,
  deletes,
  resets,
  { name: 'removed', good: 204, act: asMember('DELETE') },
  { name: 'made a viewer', good: 204, act: asMember('PATCH', { role: 'viewer' }) },
];
const OF_OPERATORS: readonly Loss[] = [
  disables,
  deletes,
  resets,
  {
    name: 'demoted',
    good: 200,
    act: ({ muster }, userId) => asOperator(muster, `/users/${userId}`, { method: 'PATCH', body: { operator: false } }),
  },
];

onEachBackend('the last one who can sign in', (backend) => {
  test.each(OF_OWNERS)('among the owners of an account is not $name, and another one is', async ({ act, good }) => {
    await using panel = await panelMuster(backend, { env: WITHOUT_PASSWORDS });
    const { accountId } = await tenant(panel.muster);
    const owner = { accounts: [{ accountId, role: 'owner' as const }] };
    const last = await able(panel, owner);
    // An owner who has no way in, and one who is disabled, let nobody in.
    await putUser(panel.store, owner);
    await putUser(panel.store, { ...owner, record: { passkeys: passkey(), disabled: true } });
    const refused = await act(panel, last, accountId);
    expect([refused.status, refused.body['error']]).toMatchObject([
      409,
      {
        code: 'conflict',
        message: expect.stringContaining(`No other owner of the account ${accountId} can`) as string,
      },
    ]);
    await able(panel, owner);
    const accepted = await act(panel, last, accountId);
    expect([accepted.status, accepted.text]).toEqual([good, expect.any(String)]);
  });

  test.each(OF_OPERATORS)('among the operators is not $name, and another one is', async ({ act, good }) => {
    await using panel = await panelMuster(backend, { env: WITHOUT_PASSWORDS });
    const last = await able(panel, { operator: true });
    await putUser(panel.store, { operator: true });
    const refused = await act(panel, last, '');
    expect([refused.status, refused.body['error']]).toMatchObject([
      409,
      { code: 'conflict', message: expect.stringContaining('No other operator can sign in') as string },
    ]);
    await able(panel, { operator: true });
    const accepted = await act(panel, last, '');
    expect([accepted.status, accepted.text]).toEqual([good, expect.any(String)]);
  });

  test('of one account is disabled where the other accounts of the user have another one, but not where one has none', async () => {
    await using panel = await panelMuster(backend, { env: WITHOUT_PASSWORDS });
    const accounts = [await tenant(panel.muster), await tenant(panel.muster)].map(({ accountId }) => accountId);
    const [first = '', second = ''] = accounts;
    const owned = (...ids: string[]) => ({ accounts: ids.map((accountId) => ({ accountId, role: 'owner' as const })) });
    const user = await able(panel, owned(first, second));
    await able(panel, owned(first));
    expect((await disables.act(panel, user, '')).status).toBe(409);
    await able(panel, owned(second));
    expect((await disables.act(panel, user, '')).status).toBe(200);
    expect(JSON.parse((await panel.store.get(KEYS.user(user)))?.value ?? '{}')).toMatchObject({ disabled: true });
  });
});
