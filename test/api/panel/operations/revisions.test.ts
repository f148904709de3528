import { expect, test } from 'vitest';
import * as z from 'zod';
import { KEYS } from '../../../../src/domain/records/keys.ts';
import {
  ask,
  panelMuster,
  rewrite,
  signedIn,
  type Browser,
  type PanelMuster,
} from '../../../support/panel/panel-users.ts';
import { codeOf } from '../../../support/panel/visitor.ts';
import { auditOf, purgeOtel, setOtel } from '../../../support/service/daemon.ts';
import { call, createApp, enroll, poll, tenant, type Answer } from '../../../support/service/muster.ts';
import { onEachBackend } from '../../../support/store/backends.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

/* The history of a configuration in the panel: what is listed, what a restoration stores, and who is asked for what. */

const LIST = z.object({
  revisions: z.array(
    z.looseObject({
      revision: z.number(),
      endpoint: z.string(),
      by: z.object({ kind: z.string(), id: z.string(), name: z.string() }),
      rollout: z.looseObject({ applied: z.number() }).nullable(),
    }),
  ),
});
type Listed = z.infer<typeof LIST>['revisions'];

const HEADER = 'Bearer collector-secret-of-the-history';
const A = 'https://a.example.com';
const B = 'https://b.example.com';

interface Scene extends PanelMuster {
  readonly accountId: string;
  readonly apiKey: string;
  readonly keyId: string;
  readonly owner: Browser;
  readonly at: string;
  readonly list: (browser?: Browser) => Promise<Listed>;
  readonly numbers: () => Promise<number[]>;
  readonly put: (body: object) => Promise<Answer>;
  /** Restores a revision over the configuration that is there, or over the one that is named. */
  readonly restore: (revision: number, more?: object, browser?: Browser) => Promise<Answer>;
}

async function scene(panel: PanelMuster): Promise<Scene> {
  const { muster, store } = panel;
  const { accountId, apiKey, keyId } = await tenant(muster);
  const owner = await signedIn(store, { name: 'Olga', accounts: [{ accountId, role: 'owner' }] });
  const at = `/accounts/${accountId}/otel-config`;
  const list = async (browser = owner): Promise<Listed> =>
    LIST.parse((await ask(panel, browser, `${at}/revisions`)).body).revisions;
  return {
    ...panel,
    accountId,
    apiKey,
    keyId,
    owner,
    at,
    list,
    numbers: async () => (await list()).map(({ revision }) => revision),
    put: async (body) => await ask(panel, owner, at, { method: 'PUT', body: { enabled: true, ...body } }),
    async restore(revision, more = {}, browser = owner) {
      const seen = (await ask(panel, owner, at)).body['tag'];
      return await ask(panel, browser, `${at}/restore`, { method: 'POST', body: { revision, seen, ...more } });
    },
    [Symbol.asyncDispose]: () => panel[Symbol.asyncDispose](),
  };
}

const ack = (it: Scene, credential: string, revision: number): Promise<Answer> =>
  call(`${it.muster.device}/device/v1/config/ack`, {
    method: 'POST',
    token: credential,
    body: { revision, status: 'applied' },
  });

onEachBackend('the history of a configuration', (backend) => {
  test('each revision is listed with its author and what it had, and never with its header', async () => {
    await using it = await scene(await panelMuster(backend));
    expect(await it.list()).toEqual([]);
    expect((await setOtel(it.muster, it.apiKey, { endpoint: A, authHeader: HEADER })).status).toBe(200);
    expect((await it.put({ endpoint: B, authHeader: '', evidenceLevel: 'full' })).status).toBe(200);
    // What changes nothing is no revision.
    expect((await it.put({ endpoint: B, evidenceLevel: 'full' })).status).toBe(200);
    const viewer = await signedIn(it.store, { accounts: [{ accountId: it.accountId, role: 'viewer' }] });
    expect(await it.list(viewer)).toMatchObject([
      {
        revision: 2,
        by: { kind: 'user', id: it.owner.userId, name: 'Olga' },
        endpoint: B,
        authHeaderSet: false,
        evidenceLevel: 'full',
        restores: null,
      },
      { revision: 1, by: { kind: 'key', id: it.keyId }, endpoint: A, authHeaderSet: true, evidenceLevel: 'hashes' },
    ]);
    const { entries } = await it.store.list({ prefix: KEYS.otelRevision.under(it.accountId), limit: 10 });
    expect(entries).toHaveLength(2);
    for (const { value } of entries) expect(value).not.toMatch(/collector-secret|box|wrappedKey/);
    // The author keeps the name that they had.
    await rewrite(it, KEYS.user(it.owner.userId), (user) => ({ ...user, name: 'Other' }));
    expect((await it.list())[0]?.by.name).toBe('Olga');
  });

  test('the rollout of a revision is live while it is the current one, and stays as it was when it is replaced', async () => {
    await using it = await scene(await panelMuster(backend));
    const [one, two] = [await createApp(it.muster, it.apiKey), await createApp(it.muster, it.apiKey)];
    const [first, second] = [await enroll(it.muster, one), await enroll(it.muster, two)];
    await it.put({ endpoint: A });
    expect((await ack(it, first, 1)).status).toBe(204);
    const half = { applied: 1, failed: 0, pending: 1, stale: 0 };
    expect((await it.list())[0]?.rollout).toEqual(half);
    await it.put({ endpoint: B });
    for (const credential of [first, second]) expect((await ack(it, credential, 2)).status).toBe(204);
    expect((await it.list()).map(({ rollout }) => rollout)).toEqual([{ ...half, applied: 2, pending: 0 }, half]);
  });

  test('a restoration is a new revision, in whose audit entry the restored one stands', async () => {
    await using it = await scene(await panelMuster(backend));
    await it.put({ endpoint: A, evidenceLevel: 'redacted' });
    await it.put({ endpoint: B });
    const restored = await it.restore(1);
    expect(restored).toMatchObject({ status: 200, body: { revision: 3, endpoint: A, evidenceLevel: 'redacted' } });
    expect((await it.list())[0]).toMatchObject({ revision: 3, endpoint: A, restores: 1 });
    const entry = (await auditOf(it.muster, it.accountId)).find(({ detail }) => detail['restores'] !== undefined);
    expect(entry).toMatchObject({ action: 'otel.stored', detail: { revision: 3, restores: 1 } });
    // All is so already.
    expect(await it.restore(1)).toMatchObject({ status: 200, body: { revision: 3 } });
    expect(await it.numbers()).toEqual([3, 2, 1]);
  });

  test('the stored header stays at its origin, and for another one it must be named, or none', async () => {
    await using it = await scene(await panelMuster(backend));
    await it.put({ endpoint: `${A}/one` });
    await it.put({ endpoint: B });
    await it.put({ endpoint: `${A}:443/two`, authHeader: HEADER });
    const kept = await it.restore(1);
    expect(kept).toMatchObject({ status: 200, body: { endpoint: `${A}/one`, authHeaderSet: true } });
    const other = await it.restore(2);
    expect([other.status, codeOf(other)]).toEqual([400, 'invalid_auth_header']);
    expect(await it.numbers()).toEqual([4, 3, 2, 1]);
    expect(await it.restore(2, { authHeader: '' })).toMatchObject({ status: 200, body: { authHeaderSet: false } });
    // The header that this revision had is not stored any more.
    const gone = await it.restore(3);
    expect([gone.status, codeOf(gone)]).toEqual([400, 'invalid_auth_header']);
    expect(await it.restore(3, { authHeader: 'Bearer other' })).toMatchObject({ body: { authHeaderSet: true } });
    // Nothing is sent without an endpoint, so nothing is asked.
    await it.put({ enabled: false, endpoint: '' });
    await it.restore(3);
    expect(await it.restore(7)).toMatchObject({ status: 200, body: { endpoint: '', authHeaderSet: true } });
  });

  test('a stored header goes to no other address of its origin without a fresh proof', async () => {
    await using it = await scene(await panelMuster(backend));
    await it.put({ endpoint: `${A}/one`, authHeader: HEADER });
    await it.put({ endpoint: `${A}/two` });
    await it.put({ endpoint: `${A}/two`, evidenceLevel: 'full' });
    const stale = await signedIn(it.store, it.owner.userId, { proof: { at: Date.now() - 3_600_000, by: 'password' } });
    const refused = await it.restore(1, {}, stale);
    expect([refused.status, codeOf(refused)]).toEqual([403, 'proof_required']);
    expect((await it.restore(1, { authHeader: HEADER }, stale)).status).toBe(200);
    // The same address needs none.
    expect((await it.restore(2)).status).toBe(200);
    expect((await it.restore(3, {}, stale)).status).toBe(200);
  });

  test('a header that is kept on purpose goes to another origin with a fresh proof, and where one is stored', async () => {
    await using it = await scene(await panelMuster(backend));
    await it.put({ endpoint: A, authHeader: HEADER });
    await it.put({ endpoint: B });
    const stale = await signedIn(it.store, it.owner.userId, { proof: { at: Date.now() - 3_600_000, by: 'password' } });
    const refused = await it.restore(1, { keepHeader: true }, stale);
    expect([refused.status, codeOf(refused)]).toEqual([403, 'proof_required']);
    const unkept = await it.restore(1, { keepHeader: false });
    expect([unkept.status, codeOf(unkept)]).toEqual([400, 'invalid_auth_header']);
    expect(await it.numbers()).toEqual([2, 1]);
    const kept = await it.restore(1, { keepHeader: true });
    expect(kept).toMatchObject({ status: 200, body: { revision: 3, endpoint: A, authHeaderSet: true } });
    const credential = await enroll(it.muster, await createApp(it.muster, it.apiKey));
    expect((await poll(it.muster, credential)).text).toContain(HEADER);
    await it.put({ endpoint: A, authHeader: '' });
    // No header is there to be kept.
    const gone = await it.restore(1, { keepHeader: true });
    expect([gone.status, codeOf(gone)]).toEqual([400, 'invalid_auth_header']);
  });

  test('of those who restore and save at once one does, and the others are told', async () => {
    await using it = await scene(await panelMuster(backend));
    for (const endpoint of [A, B, 'https://c.example.com']) await it.put({ endpoint });
    const seen = (await ask(it, it.owner, it.at)).body['tag'];
    const all = await Promise.all([
      ...[1, 2, 1, 2].map((revision) => it.restore(revision, { seen })),
      ...['d', 'e'].map((name) => it.put({ endpoint: `https://${name}.example.com`, seen })),
    ]);
    const [stored, ...others] = all.toSorted((x, y) => x.status - y.status);
    expect(stored?.status).toBe(200);
    expect(others.map((one) => [one.status, codeOf(one)])).toEqual(others.map(() => [409, 'changed_meanwhile']));
    expect((await it.list())[0]).toMatchObject({ revision: 4, endpoint: stored?.body['endpoint'] });
  });

  test('a purge takes all of them along, and what comes after it begins anew', async () => {
    await using it = await scene(await panelMuster(backend));
    for (const endpoint of [A, B]) await it.put({ endpoint });
    expect((await purgeOtel(it.muster, it.apiKey)).status).toBe(200);
    expect(await it.list()).toEqual([]);
    const { entries } = await it.store.list({ prefix: KEYS.otelRevision.under(it.accountId), limit: 1 });
    expect(entries).toEqual([]);
    const unknown = await it.restore(2);
    expect([unknown.status, codeOf(unknown)]).toEqual([404, 'not_found']);
    await it.put({ endpoint: B });
    expect(await it.numbers()).toEqual([4]);
  });

  test('fifty are kept: the one before them is unknown, and the fiftieth is restored', async () => {
    await using it = await scene(await panelMuster(backend, { clock: new FakeClock() }));
    for (let revision = 1; revision <= 51; revision += 1) await it.put({ endpoint: `https://${revision}.example.com` });
    const kept = await it.numbers();
    expect([kept.length, kept[0], kept.at(-1)]).toEqual([50, 51, 2]);
    expect(codeOf(await it.restore(1))).toBe('not_found');
    expect(codeOf(await it.restore(52))).toBe('not_found');
    expect(await it.restore(2)).toMatchObject({ status: 200, body: { endpoint: 'https://2.example.com' } });
  });

  test('an account without Enterprise shows its history and restores nothing', async () => {
    await using it = await scene(await panelMuster(backend));
    for (const endpoint of [A, B]) await it.put({ endpoint });
    await rewrite(it, KEYS.account(it.accountId), (account) => ({ ...account, entitlement: 'standard' }));
    expect(await it.numbers()).toEqual([2, 1]);
    const refused = await it.restore(1);
    expect([refused.status, codeOf(refused)]).toEqual([403, 'enterprise_required']);
  });
});
