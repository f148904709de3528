import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exchange } from '../support/http/raw-http.ts';
import { askBy, makeToken } from '../support/panel/access-tokens/tokens.ts';
import { signedIn } from '../support/panel/panel-users.ts';
import { scratchDirectory } from '../support/run/scratch-directory.ts';
import {
  auditOf,
  deleteApp,
  enrollOwn,
  issueCode,
  ownCredential,
  revoke,
  sendEnroll,
  setOtel,
} from '../support/service/daemon.ts';
import {
  call,
  createApp,
  enroll,
  KEY_FILE_TEXT,
  Muster,
  OPERATOR_TOKEN,
  poll,
  tenant,
  type Answer,
  type Tenant,
} from '../support/service/muster.ts';
import { onEachBackend } from '../support/store/backends.ts';
import { faultyStore, type FaultyStore } from '../support/store/faulty-store.ts';

const WRONG_TOKEN = 'wrong-operator-token-wrong-operator-token';
const HEADERS = ['Bearer first-collector-secret', 'X-Api-Key: second-collector-secret'];

/** All that must not be found anywhere, by what it is; and every answer that was no success. */
interface Told {
  readonly secrets: Map<string, string>;
  readonly refusals: Answer[];
}

/** A whole life, with every kind of secret, right and wrong ones, and trouble in between. */
async function live(muster: Muster, owner: Tenant, store: FaultyStore): Promise<Told> {
  const secrets = new Map<string, string>([
    ['operator token', OPERATOR_TOKEN],
    ['wrong operator token', WRONG_TOKEN],
    ['API key', owner.apiKey],
    ['the secret of the API key', owner.apiKey.slice(-49)],
    ['collector secret', 'first-collector-secret'],
    ['another collector secret', 'second-collector-secret'],
    ['key-encryption key', KEY_FILE_TEXT.slice(2).trim()],
  ]);
  const refusals: Answer[] = [];
  const refused = async (answer: Promise<Answer>): Promise<void> => void refusals.push(await answer);

  const created = await call(`${muster.api}/v1/apps`, {
    method: 'POST',
    token: owner.apiKey,
    headers: { 'idempotency-key': 'again' },
  });
  const app = { appId: String(created.body['appId']), enrollCode: String(created.body['enrollCode']) };
  secrets.set('code', app.enrollCode);
  const replayed = await call(`${muster.api}/v1/apps`, {
    method: 'POST',
    token: owner.apiKey,
    headers: { 'idempotency-key': 'again' },
  });
  expect(replayed.body['enrollCode']).toBe(app.enrollCode);
  for (const authHeader of HEADERS) expect((await setOtel(muster, owner.apiKey, { authHeader })).status).toBe(200);

  const ann = await signedIn(store, { accounts: [{ accountId: owner.accountId, role: 'owner' }] });
  const { token } = await makeToken({ muster }, ann, { accountId: owner.accountId, role: 'owner' });
  secrets.set('access token', token).set('the secret of the access token', token.slice(-49));
  const byToken = (own: string): Promise<Answer> =>
    askBy({ muster }, { token: own }, `/accounts/${owner.accountId}/apps`, { method: 'POST', body: { name: 'b' } });
  expect((await byToken(token)).status).toBe(201);
  await refused(byToken(`${token.slice(0, -1)}~`));

  const credential = await enroll(muster, app);
  secrets.set('credential', credential);
  expect((await poll(muster, credential)).text).toContain('second-collector-secret');
  await call(`${muster.device}/device/v1/config/ack`, {
    method: 'POST',
    token: credential,
    body: { revision: 2, status: 'applied' },
  });
  const newer = await issueCode(muster, owner.apiKey, app.appId);
  const own = ownCredential();
  secrets.set('newer code', newer.enrollCode).set('the daemon’s own credential', own.token);
  expect((await enrollOwn(muster, newer, own.hash)).status).toBe(200);
  expect((await poll(muster, own.token, { 'muster-agent-version': '2' })).status).toBe(200);

  await refused(sendEnroll(muster, app));
  await refused(sendEnroll(muster, { ...newer, platform: own.token.repeat(4) }));
  await refused(poll(muster, credential));
  await refused(poll(muster, `${own.token}x`));
  await refused(call(`${muster.api}/v1/apps`, { token: `${owner.apiKey.slice(0, -1)}!` }));
  await refused(call(`${muster.api}/v1/apps/${owner.apiKey}`, { token: owner.apiKey }));
  await refused(
    call(`${muster.api}/v1/otel-config`, { method: 'PUT', token: owner.apiKey, body: `{"authHeader":"${HEADERS[0]}` }),
  );
  await refused(setOtel(muster, owner.apiKey, { authHeader: `${HEADERS[0]}\n` }));
  await refused(setOtel(muster, owner.apiKey, { endpoint: 'https://user:second-collector-secret@otel.example.com' }));
  await refused(setOtel(muster, owner.apiKey, { evidenceLevel: HEADERS[1] }));
  await refused(call(`${muster.ops}/operator/v1/accounts`, { token: WRONG_TOKEN }));
  await refused(
    call(`${muster.ops}/operator/v1/accounts?after=${encodeURIComponent(owner.apiKey)}!`, { token: OPERATOR_TOKEN }),
  );
  await exchange(
    muster.service.api.port,
    `GET /v1/apps?key=${owner.apiKey} HTTP/9.9\r\nAuthorization: Bearer ${owner.apiKey}\r\n\r\n`,
  );
  store.fates.push('answer lost after commit', 'lost before commit', 'lost before commit');
  await setOtel(muster, owner.apiKey, { authHeader: HEADERS[0] });
  await setOtel(muster, owner.apiKey, { authHeader: HEADERS[1] });
  store.outage(true);
  await refused(setOtel(muster, owner.apiKey, { authHeader: HEADERS[0] }));
  await refused(sendEnroll(muster, newer));
  await refused(poll(muster, own.token));
  store.outage(false);

  await call(`${muster.api}/v1/otel-config`, { method: 'DELETE', token: owner.apiKey });
  await setOtel(muster, owner.apiKey, { authHeader: HEADERS[0] });
  await revoke(muster, owner.apiKey, app.appId);
  const last = await createApp(muster, owner.apiKey);
  secrets.set('last code', last.enrollCode);
  await deleteApp(muster, owner.apiKey, last.appId);
  await call(`${muster.ops}/operator/v1/accounts/${owner.accountId}/api-keys/${owner.keyId}`, {
    method: 'DELETE',
    token: OPERATOR_TOKEN,
  });
  await refused(call(`${muster.api}/v1/apps`, { token: owner.apiKey }));
  return { secrets, refusals };
}

/** The secrets found in a text: as they are, as JSON writes them, in base64 at any offset, or in hex. */
function found(text: string, { secrets }: Told): string[] {
  return [...secrets].filter(([, secret]) => forms(secret).some((form) => text.includes(form))).map(([what]) => what);
}

function forms(secret: string): string[] {
  const bytes = Buffer.from(secret);
  // The first and last few digits in base64 depend on the neighbouring bytes, by offset.
  const shifted = [0, 1, 2].map((offset) => {
    const digits = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .replaceAll('=', '');
    return digits.slice(offset === 0 ? 0 : 4, -4);
  });
  return [secret, encodeURIComponent(secret), bytes.toString('hex'), ...shifted];
}

test('the search finds a secret that is there', () => {
  const told: Told = { secrets: new Map([['it', 'Bearer collector-secret']]), refusals: [] };
  for (const text of ['Bearer collector-secret', 'xBearer collector-secret', 'xyBearer collector-secret']) {
    expect(found(`…${text}…`, told)).toEqual(['it']);
    expect(found(Buffer.from(text).toString('base64'), told)).toEqual(['it']);
    expect(found(Buffer.from(text).toString('hex'), told)).toEqual(['it']);
  }
  expect(found('Bearer of news', told)).toEqual([]);
});

onEachBackend('after a whole life no secret is', (backend) => {
  const dataDir = scratchDirectory('muster');
  let muster: Muster;
  let told: Told;
  let owner: Tenant;
  let store: FaultyStore;
  beforeAll(async () => {
    muster = await backend.fresh({ dataDir, wrapStore: (real) => (store = faultyStore(real)) });
    owner = await tenant(muster);
    told = await live(muster, owner, store);
  });
  afterAll(async () => {
    await muster[Symbol.asyncDispose]();
    rmSync(dataDir, { recursive: true });
  });

  test('in any log line, at debug level', () => {
    expect(muster.logged.length).toBeGreaterThan(20);
    expect(found(muster.logged.join(''), told)).toEqual([]);
  });

  test('in /metrics', async () => {
    expect(found((await call(`${muster.ops}/metrics`)).text, told)).toEqual([]);
  });

  test('in the audit, the lists of accounts and keys', async () => {
    const audit = await auditOf(muster, owner.accountId);
    expect(audit.length).toBeGreaterThan(12);
    const paths = ['', `/${owner.accountId}`, `/${owner.accountId}/api-keys`];
    const lists = await Promise.all(
      paths.map((path) => call(`${muster.ops}/operator/v1/accounts${path}`, { token: OPERATOR_TOKEN })),
    );
    expect(found(JSON.stringify(audit) + lists.map(({ text }) => text).join(''), told)).toEqual([]);
  });

  test('in an answer that refuses', () => {
    expect(told.refusals.map(({ status }) => status).filter((status) => status < 400)).toEqual([]);
    const all = told.refusals.map(({ text, headers }) => text + JSON.stringify([...headers])).join('');
    expect(found(all, told)).toEqual([]);
  });

  test('in any record that was written, not even for a moment', () => {
    const written = store.changes.flatMap(({ expect, write }) => [
      ...expect.map(({ key }) => key),
      ...write.map((one) => JSON.stringify(one)),
    ]);
    expect(written.length).toBeGreaterThan(50);
    expect(found(written.join('\n'), told)).toEqual([]);
  });

  test.skipIf(backend.name !== 'sqlite')('in any file of the data directory but the key’s own', async () => {
    await muster.service.stop();
    const files = readdirSync(dataDir).filter((name) => name !== 'keys');
    expect(files).toContain('muster.db');
    for (const name of files)
      expect([name, found(readFileSync(join(dataDir, name), 'latin1'), told)]).toEqual([name, []]);
  });
});

describe('while it runs', () => {
  test('none is in the write-ahead log either', async () => {
    let store: FaultyStore | undefined;
    await using muster = await Muster.start({ wrapStore: (real) => (store = faultyStore(real)) });
    const owner = await tenant(muster);
    if (!store) expect.unreachable('the store was not wrapped');
    const told = await live(muster, owner, store);
    const files = readdirSync(muster.dataDir).filter((name) => name !== 'keys');
    expect(files).toContain('muster.db-wal');
    for (const name of files)
      expect([name, found(readFileSync(join(muster.dataDir, name), 'latin1'), told)]).toEqual([name, []]);
  });
});
