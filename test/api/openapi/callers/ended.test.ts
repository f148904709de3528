import { afterAll, beforeAll, expect, test } from 'vitest';
import { KEYS } from '../../../../src/domain/records/keys.ts';
import { nameOf, TABLES, type Row } from '../../../support/doors/callers-table.ts';
import { openCallers, type CallersScene } from '../../../support/doors/callers-scene.ts';
import { MISSING, operatorToken, TOLD, type Callers, type Headers, type Ids } from '../../../support/doors/callers.ts';
import type { DocumentName } from '../../../support/openapi/documents.ts';
import { connectRaw } from '../../../support/http/raw-http.ts';
import { makeToken } from '../../../support/panel/access-tokens/tokens.ts';
import { rewrite, signedIn, type Browser } from '../../../support/panel/panel-users.ts';
import { changeAccount, revoke } from '../../../support/service/daemon.ts';
import { call, createApp, enroll, tenant } from '../../../support/service/muster.ts';
import { onEachBackend } from '../../../support/store/backends.ts';
import { requestRecords } from '../../../support/store/request-records.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

/*
 * CONTRACT.md#callers: a credential that has ended, or that is not good here, opens no operation of its own listener,
 * and one that is good in another form opens no more than in the usual one.
 */

interface Scene {
  readonly callers: Callers;
  readonly clock: FakeClock;
}

/** The refusal that a credential gets for a row; undefined where the row is open to it all the same. */
type Answer = readonly [status: number, code: string] | undefined;

interface Ended {
  readonly what: string;
  readonly api: DocumentName;
  readonly made: (scene: Scene) => Promise<{ readonly by: Headers; readonly ids?: Ids }>;
  readonly answer: (row: Row) => Answer;
}

const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` });
const cookieOf = ({ callers: { muster } }: Scene, { token }: Browser): Headers => ({
  cookie: `muster_${muster.service.panel.port}=${token}`,
});
const byOperator = async ({ callers: { muster } }: Scene, method: string, path: string, body?: object) => {
  const answer = await call(`${muster.ops}/operator/v1${path}`, {
    method,
    token: operatorToken('operator'),
    ...(body && { body }),
  });
  expect([path, answer.status < 300]).toEqual([path, true]);
  return answer.body;
};

/** A new API key of an account, as the operator makes it. */
async function keyOf(scene: Scene, body: object = {}) {
  const { accountId } = scene.callers.own;
  const { apiKey, keyId } = await byOperator(scene, 'POST', `/accounts/${accountId}/api-keys`, body);
  return { path: `/accounts/${accountId}/api-keys/${String(keyId)}`, by: bearer(String(apiKey)) };
}

const owner = async ({ callers: { store, own } }: Scene): Promise<Browser> =>
  await signedIn(store, { accounts: [{ accountId: own.accountId, role: 'owner' }] });

async function tokenOf(scene: Scene): Promise<{ readonly by: Headers; readonly person: Browser; readonly id: string }> {
  const person = await owner(scene);
  const { accountId } = scene.callers.own;
  const { token, tokenId } = await makeToken(scene.callers, person, { accountId, role: 'owner' });
  return { by: bearer(token), person, id: tokenId };
}

const always =
  (status: number, code: string): Ended['answer'] =>
  () => [status, code];
const isForNobody = ({ cells }: Row): boolean => cells.get('nobody')?.status === undefined;
/** As somebody without a credential. */
const asNobody =
  (code: string): Ended['answer'] =>
  (row) =>
    isForNobody(row) ? undefined : [401, code];
/** As an owner elsewhere, and on the account with this answer. */
const asOwnerBut =
  (status: number, code: string): Ended['answer'] =>
  ({ path, cells }) => {
    if (cells.get('owner')?.status !== undefined) return [403, 'forbidden'];
    return path.includes('{accountId}') ? [status, code] : undefined;
  };

const ENDED: readonly Ended[] = [
  {
    what: 'an API key that has expired',
    api: 'v1',
    async made(scene) {
      const { by } = await keyOf(scene, { expiresAt: new Date(scene.clock.now() + 1000).toISOString() });
      scene.clock.advance(1000);
      return { by };
    },
    answer: always(401, 'invalid_key'),
  },
  {
    what: 'an API key that is revoked',
    api: 'v1',
    async made(scene) {
      const { path, by } = await keyOf(scene);
      await byOperator(scene, 'DELETE', path);
      return { by };
    },
    answer: always(401, 'invalid_key'),
  },
  {
    what: 'a former secret whose overlap is over',
    api: 'v1',
    async made(scene) {
      const { path, by } = await keyOf(scene);
      await byOperator(scene, 'POST', `${path}/rotation`, { graceSeconds: 60 });
      scene.clock.advance(60_000);
      return { by };
    },
    answer: always(401, 'invalid_key'),
  },
  {
    what: 'a former secret in its overlap, of a key that reads',
    api: 'v1',
    async made(scene) {
      const { path, by } = await keyOf(scene, { access: 'read' });
      await byOperator(scene, 'POST', `${path}/rotation`, { graceSeconds: 3600 });
      return { by };
    },
    answer: ({ cells }) => (cells.get('read')?.status === undefined ? undefined : [403, 'forbidden']),
  },
  {
    what: 'an API key from an address that is not its own',
    api: 'v1',
    made: async (scene) => await keyOf(scene, { allowedCidrs: ['192.0.2.0/24'] }),
    answer: always(403, 'forbidden'),
  },
  {
    what: 'an API key of an account that is disabled',
    api: 'v1',
    async made({ callers: { muster } }) {
      const { accountId, apiKey } = await tenant(muster);
      await changeAccount(muster, accountId, { disabled: true });
      return { by: bearer(apiKey) };
    },
    answer: always(401, 'account_disabled'),
  },
  {
    what: 'the credential of a daemon that is revoked',
    api: 'device',
    async made({ callers: { muster, own } }) {
      const app = await createApp(muster, own.apiKey);
      const credential = await enroll(muster, app);
      await revoke(muster, own.apiKey, app.appId);
      return { by: bearer(credential) };
    },
    answer: asNobody('invalid_credential'),
  },
  {
    what: 'the credential of a daemon of an account that is disabled',
    api: 'device',
    async made({ callers: { muster } }) {
      const { accountId, apiKey } = await tenant(muster);
      const credential = await enroll(muster, await createApp(muster, apiKey));
      await changeAccount(muster, accountId, { disabled: true });
      return { by: bearer(credential) };
    },
    answer: asNobody('account_disabled'),
  },
  {
    what: 'an enrollment code as the bearer of a daemon',
    api: 'device',
    made: ({ callers: { own } }) => Promise.resolve({ by: bearer(own.app.enrollCode) }),
    answer: asNobody('invalid_credential'),
  },
  {
    what: 'a session that has expired',
    api: 'panel',
    async made(scene) {
      const { store } = scene.callers;
      const session = await signedIn(store, { operator: true }, { expiresAt: scene.clock.now() });
      return { by: cookieOf(scene, session) };
    },
    answer: asNobody('invalid_session'),
  },
  {
    what: 'a session of a person who is disabled',
    api: 'panel',
    async made(scene) {
      const person = await signedIn(scene.callers.store, { operator: true, record: { disabled: true } });
      return { by: cookieOf(scene, person) };
    },
    answer: asNobody('invalid_session'),
  },
  {
    what: 'a session of a person who is no member any more',
    api: 'panel',
    async made(scene) {
      const { callers } = scene;
      const { accountId } = callers.own;
      const person = await owner(scene);
      await rewrite(callers, KEYS.members(accountId), ({ members }) => ({
        members: (members as readonly { userId: string }[]).filter(({ userId }) => userId !== person.userId),
      }));
      return { by: cookieOf(scene, person) };
    },
    answer: asOwnerBut(404, 'not_found'),
  },
  {
    what: 'a session of a member whose account is disabled',
    api: 'panel',
    async made(scene) {
      const { muster, store } = scene.callers;
      const { accountId } = await tenant(muster);
      const person = await signedIn(store, { accounts: [{ accountId, role: 'owner' }] });
      await changeAccount(muster, accountId, { disabled: true });
      return { by: cookieOf(scene, person), ids: { ...MISSING, accountId } };
    },
    answer: asOwnerBut(403, 'forbidden'),
  },
  {
    what: 'an access token that is revoked',
    api: 'panel',
    async made(scene) {
      const { by, id, person } = await tokenOf(scene);
      const row = TABLES.flatMap(({ rows }) => rows).find(
        (one) => nameOf(one) === 'DELETE /panel/v1/me/access-tokens/{tokenId}',
      );
      if (!row) throw new Error('The table has no row for it.');
      expect((await scene.callers.ask(row, cookieOf(scene, person), { tokenId: id })).status).toBe(204);
      return { by };
    },
    answer: always(401, 'invalid_token'),
  },
  {
    what: 'an access token of a person who is disabled',
    api: 'panel',
    async made(scene) {
      const { by, person } = await tokenOf(scene);
      await rewrite(scene.callers, KEYS.user(person.userId), (user) => ({ ...user, disabled: true }));
      return { by };
    },
    answer: always(401, 'invalid_token'),
  },
  {
    what: 'an access token of a person who has no role any more',
    api: 'panel',
    async made(scene) {
      const { by, person } = await tokenOf(scene);
      // As a role that groups give goes by itself: no commit ends the token with it.
      await rewrite(scene.callers, KEYS.members(scene.callers.own.accountId), ({ members }) => ({
        members: (members as readonly { userId: string }[]).filter(({ userId }) => userId !== person.userId),
      }));
      return { by };
    },
    answer: always(403, 'forbidden'),
  },
];

onEachBackend('a credential that has ended', (backend) => {
  const clock = new FakeClock(Date.now());
  let opened: CallersScene;
  let scene: Scene;
  beforeAll(async () => {
    opened = await openCallers(backend, clock);
    scene = { callers: opened.callers, clock };
  });
  afterAll(() => opened[Symbol.asyncDispose]());

  test.each(ENDED)('$what is refused by every operation, and nothing is written or told', async (ended) => {
    const { callers } = scene;
    const { by, ids = callers.own.ids } = await ended.made(scene);
    const before = await requestRecords(opened.store);
    let refused = 0;
    for (const row of TABLES.find(({ api }) => api === ended.api)?.rows ?? []) {
      const answer = ended.answer(row);
      if (answer === undefined) continue;
      refused += 1;
      const got = await callers.ask(row, by, ids);
      expect([nameOf(row), got.status, got.code]).toEqual([nameOf(row), ...answer]);
      expect([nameOf(row), TOLD.test(got.text)]).toEqual([nameOf(row), false]);
    }
    expect(refused).toBeGreaterThan(3);
    expect(await requestRecords(opened.store)).toEqual(before);
  });
});

onEachBackend('a credential in another form', (backend) => {
  let scene: CallersScene;
  beforeAll(async () => {
    scene = await openCallers(backend);
  });
  afterAll(() => scene[Symbol.asyncDispose]());

  const READS = [
    { api: 'v1', caller: 'full', path: '/v1/apps' },
    { api: 'device', caller: 'daemon', path: '/device/v1/config' },
    { api: 'operator', caller: 'support', path: '/operator/v1/accounts' },
    { api: 'panel', caller: 'token: viewer', path: '/panel/v1/accounts/{accountId}/apps' },
  ] as const;

  test.each(READS)('$api: the scheme in any case is one, and two fields are none', async ({ api, caller, path }) => {
    const { authorization = '' } = await scene.callers.credential(api, caller);
    const { cookie = '' } = await scene.callers.credential('panel', 'operator');
    const [, secret = ''] = authorization.split(' ');
    const { host, port } = new URL(scene.callers.url(api));
    await using connection = await connectRaw(Number(port));
    const statusOf = async (...fields: readonly string[]): Promise<number> => {
      const head = [`GET ${path.replace('{accountId}', scene.callers.own.accountId)} HTTP/1.1`, `Host: ${host}`];
      const lines = [...head, `Cookie: ${cookie}`, ...fields.map((field) => `Authorization: ${field}`), '', ''];
      await connection.send(lines.join('\r\n'));
      return (await connection.answer()).status;
    };
    for (const scheme of ['Bearer', 'bearer', 'BEARER'])
      expect([scheme, await statusOf(`${scheme} ${secret}`)]).toEqual([scheme, 200]);
    const good = `Bearer ${secret}`;
    for (const two of [[good, good], [good, 'Basic eDp5'], ['Basic eDp5', good], ['', good], [`${good}, ${good}`]])
      expect([two, await statusOf(...two)]).toEqual([two, 401]);
  });

  test('a header that names another method makes no other one of a request', async () => {
    const by = await scene.callers.credential('v1', 'read');
    const named = (method: string): Headers =>
      Object.fromEntries(['x-http-method-override', 'x-http-method', 'x-method-override'].map((one) => [one, method]));
    const before = await requestRecords(scene.store);
    for (const row of TABLES.find(({ api }) => api === 'v1')?.rows ?? []) {
      const plain = await scene.callers.ask(row, by, scene.callers.own.ids, { method: 'GET' });
      const raised = await scene.callers.ask(row, { ...by, ...named(row.method) }, scene.callers.own.ids, {
        method: 'GET',
      });
      expect([nameOf(row), raised.status, raised.text]).toEqual([nameOf(row), plain.status, plain.text]);
      const lowered = await scene.callers.ask(row, { ...by, ...named('GET') }, scene.callers.own.ids);
      expect([nameOf(row), lowered.status]).toEqual([nameOf(row), row.cells.get('read')?.status ?? 200]);
    }
    expect(await requestRecords(scene.store)).toEqual(before);
  });
});
