import { expect, test } from 'vitest';
import { ask, panelMuster, signedIn } from '../../support/panel/panel-users.ts';
import { asOperator } from '../../support/panel/visitor.ts';
import { detection, sendDetections } from '../../support/records/detections.ts';
import { setOtel } from '../../support/service/daemon.ts';
import { call, createApp, enroll, OPERATOR_TOKEN, tenant } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';

/* Wherever an answer of the panel has the id of a person, a key or an app, it has the name of now beside it. */

onEachBackend('ids with the names of now', (backend) => {
  test('of an app: what its daemon failed with and detected, and the search by its id', async () => {
    await using panel = await panelMuster(backend);
    const { muster } = panel;
    const { accountId, apiKey } = await tenant(muster);
    const at = `/accounts/${accountId}`;
    const operator = await signedIn(panel.store, { name: 'Otto', operator: true });
    const [named, unnamed] = [await createApp(muster, apiKey, 'till 7'), await createApp(muster, apiKey, '')];
    await setOtel(muster, apiKey);
    for (const app of [named, unnamed]) {
      const token = await enroll(muster, app);
      const body = { revision: 1, status: 'failed', error: 'no route' };
      await call(`${muster.device}/device/v1/config/ack`, { method: 'POST', token, body });
      await sendDetections(muster, token, [detection({ id: 'e' })]);
    }
    const rollout = (await asOperator(muster, `${at}/rollout`)).body;
    expect(new Map(failuresOf(rollout).map(({ appId, name }) => [appId, name]))).toEqual(
      new Map([
        [named.appId, 'till 7'],
        [unnamed.appId, undefined],
      ]),
    );
    expect((await ask(panel, operator, `${at}/rollout`)).body['failures']).toEqual(
      expect.arrayContaining([expect.objectContaining({ appId: named.appId, name: 'till 7' })]),
    );
    const { entries } = (await ask(panel, operator, `${at}/review-queue`)).body as { entries: ReviewBody[] };
    expect(new Map(entries.map(({ appId, appName }) => [appId, appName]))).toEqual(
      new Map([
        [named.appId, 'till 7'],
        [unnamed.appId, undefined],
      ]),
    );
    const first = entries.find(({ appId }) => appId === named.appId);
    const decided = await ask(panel, operator, `${at}/review-queue/${first?.entryId}`, {
      method: 'PATCH',
      body: { status: 'dismissed' },
    });
    expect(decided).toMatchObject({ status: 200, body: { appName: 'till 7', status: 'dismissed' } });
    const found = (text: string) => ask(panel, operator, `/find?text=${text}`);
    expect((await found(unnamed.appId)).body['app']).toEqual({ accountId, appId: unnamed.appId, name: '' });
    expect((await found(operator.userId)).body['user']).toEqual({ userId: operator.userId, name: 'Otto' });
  });

  test('of a person: who made a key or an invitation, until they are gone; of a key: which one is limited', async () => {
    await using panel = await panelMuster(backend);
    const { muster } = panel;
    const { accountId } = await tenant(muster);
    const at = `/accounts/${accountId}`;
    const [ann, bob] = await Promise.all(
      ['Ann', 'Bob'].map((name) => signedIn(panel.store, { name, accounts: [{ accountId, role: 'owner' }] })),
    );
    const made = await ask(panel, ann, `${at}/api-keys`, { method: 'POST', body: { name: 'nightly' } });
    const { apiKey: token, keyId } = made.body as { apiKey: string; keyId: string };
    await ask(panel, ann, `${at}/invitations`, { method: 'POST', body: { role: 'viewer' } });
    const byNames = async () => {
      const { invitations } = (await ask(panel, bob, `${at}/invitations`)).body as {
        invitations: { byName?: string }[];
      };
      const { apiKeys } = (await ask(panel, bob, `${at}/api-keys`)).body as {
        apiKeys: { keyId: string; createdByName?: string }[];
      };
      return [invitations[0]?.byName, apiKeys.find((key) => key.keyId === keyId)?.createdByName];
    };
    expect(await byNames()).toEqual(['Ann', 'Ann']);
    const user = `/users/${ann?.userId}`;
    await asOperator(muster, user, { method: 'PATCH', body: { name: 'Anna' } });
    expect(await byNames()).toEqual(['Anna', 'Anna']);

    let refused = 0;
    while (refused < 1) if ((await call(`${muster.api}/v1/apps`, { token })).status === 429) refused += 1;
    const expected = [expect.objectContaining({ keyId, keyName: 'nightly', operation: 'GET /v1/apps' })];
    expect((await ask(panel, bob, `${at}/rate-limit`)).body['refusedBy']).toEqual(expected);
    const limits = await call(`${muster.ops}/operator/v1/rate-limits`, { token: OPERATOR_TOKEN });
    expect(limits.body['accounts']).toMatchObject([{ accountId, name: 'tenant', refusedBy: expected }]);

    expect((await asOperator(muster, `${user}?keepKeys=${keyId}`, { method: 'DELETE' })).status).toBe(204);
    expect(await byNames()).toEqual([undefined, undefined]);
  });
});

interface ReviewBody {
  readonly entryId: string;
  readonly appId: string;
  readonly appName?: string;
}

const failuresOf = (body: Readonly<Record<string, unknown>>) =>
  body['failures'] as readonly { readonly appId: string; readonly name?: string }[];
