import { expect, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import {
  ask,
  panelMuster,
  rewrite,
  signedIn,
  type Browser,
  type PanelMuster,
} from '../../support/panel/panel-users.ts';
import { codeOf } from '../../support/panel/visitor.ts';
import { call, tenant, type Answer } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { BeforeCommit } from '../../support/store/before-commit.ts';

/* A18: a collector's header that is stored goes to no other address without a proof of the person. */

const HOME = 'https://otel.example.com';
const EVIL = 'https://evil.example.net';

interface Stored {
  readonly accountId: string;
  readonly stolen: Browser;
  readonly owner: Browser;
  store(by: Browser, body: object): Promise<Answer>;
  endpoint(): Promise<unknown>;
}

/** An account with a header, and two sessions of an owner: one without a proof, and a proved one. */
async function stored(panel: PanelMuster, authHeader = 'Bearer of the owner'): Promise<Stored> {
  const { accountId, apiKey } = await tenant(panel.muster);
  const stolen = await signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] }, { proof: undefined });
  const owner = await signedIn(panel.store, stolen.userId);
  const path = `/accounts/${accountId}/otel-config`;
  const body = { enabled: true, endpoint: HOME, evidenceLevel: 'hashes', authHeader };
  expect((await call(`${panel.muster.api}/v1/otel-config`, { method: 'PUT', token: apiKey, body })).status).toBe(200);
  return {
    accountId,
    stolen,
    owner,
    store: (by, change) =>
      ask(panel, by, path, {
        method: 'PUT',
        body: { enabled: true, endpoint: HOME, evidenceLevel: 'hashes', ...change },
      }),
    endpoint: async () => (await ask(panel, owner, path)).body['endpoint'],
  };
}

onEachBackend('a stored header', (backend) => {
  test('goes to no other address without a proof, and with one it does', async () => {
    await using panel = await panelMuster(backend);
    const it = await stored(panel);
    for (const change of [{ endpoint: EVIL }, { endpoint: `${HOME}/v1` }, { enabled: false, endpoint: EVIL }]) {
      const refused = await it.store(it.stolen, change);
      expect([change, refused.status, codeOf(refused)]).toEqual([change, 403, 'proof_required']);
    }
    expect(await it.endpoint()).toBe(HOME);
    expect((await it.store(it.owner, { endpoint: EVIL })).status).toBe(200);
    expect(await it.endpoint()).toBe(EVIL);
  });

  test('stays where it is without one, and another header, or none, goes anywhere', async () => {
    await using panel = await panelMuster(backend);
    const it = await stored(panel);
    expect((await it.store(it.stolen, { evidenceLevel: 'full' })).body).toMatchObject({ authHeaderSet: true });
    expect((await it.store(it.stolen, { endpoint: EVIL, authHeader: 'Bearer of the thief' })).status).toBe(200);
    expect((await it.store(it.stolen, { endpoint: HOME, authHeader: '' })).body).toMatchObject({
      authHeaderSet: false,
    });
    expect((await it.store(it.stolen, { endpoint: EVIL })).status).toBe(200);
  });

  test('that is stored while the change is under way does not go with it', async () => {
    const before = new BeforeCommit('d/a/');
    await using panel = await panelMuster(backend, { wrapStore: before.wrapStore });
    const it = await stored(panel, '');
    const other = await stored(panel);
    const { value } = (await panel.store.get(KEYS.otel(other.accountId))) ?? {};
    before.next = () => rewrite(panel, KEYS.otel(it.accountId), () => JSON.parse(value ?? '{}') as object);
    const raced = await it.store(it.stolen, { endpoint: EVIL });
    expect([before.isDone, raced.status, codeOf(raced)]).toEqual([true, 403, 'proof_required']);
  });
});
