import { afterAll, beforeAll, expect, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { Store } from '../../../src/store/port.ts';
import { wrappedStore } from '../../support/store/wrapped-store.ts';
import { detection, sendDetections } from '../../support/records/detections.ts';
import { halfWritten } from '../../support/service/accounts.ts';
import {
  changeAccount,
  deleteApp,
  enrollOwn,
  issueCode,
  metric,
  ownCredential,
  revoke,
  sendEnroll,
  setOtel,
} from '../../support/service/daemon.ts';
import {
  call,
  createApp,
  enroll,
  OPERATOR_TOKEN,
  poll,
  tenant,
  type Answer,
  type CreatedApp,
  type Muster,
  type Tenant,
} from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { faultyStore, type FaultyStore } from '../../support/store/faulty-store.ts';

const HEADER = 'Bearer collector-secret';

/** An account as each test finds it: an app that polls, one that waits, an export with a header. */
interface Scene extends Tenant {
  readonly muster: Muster;
  readonly active: CreatedApp;
  readonly pending: CreatedApp;
  readonly credential: string;
  readonly operator: (target: string, body?: object) => Promise<Answer>;
}

async function scene(muster: Muster): Promise<Scene> {
  const account = await tenant(muster);
  const [active, pending] = [await createApp(muster, account.apiKey), await createApp(muster, account.apiKey)];
  const credential = await enroll(muster, active);
  expect((await setOtel(muster, account.apiKey, { authHeader: HEADER, evidenceLevel: 'full' })).status).toBe(200);
  const operator: Scene['operator'] = (target, body) => {
    const [method = '', path = ''] = target.split(' ');
    return call(`${muster.ops}/operator/v1${path}`, { method, token: OPERATOR_TOKEN, ...(body && { body }) });
  };
  return { ...account, muster, active, pending, credential, operator };
}

type Act = (scene: Scene) => Promise<Answer>;
const accountOf = ({ accountId }: Scene): string => `/accounts/${accountId}`;
const device = ({ muster, credential }: Scene, path: string, body: object): Promise<Answer> =>
  call(`${muster.device}/device/v1${path}`, { method: 'POST', token: credential, body });

const ENDS = { later: { expiresAt: '2099-01-31T00:00:00.000Z' }, sooner: { expiresAt: '2098-01-31T00:00:00.000Z' } };
const RANGES = { wider: { allowedCidrs: ['10.0.0.0/8'] }, narrower: { allowedCidrs: ['10.0.0.0/9'] } };
/** Changes the key of the account, once more with each of these. */
async function narrowed(it: Scene, ...changes: readonly [object, ...object[]]): Promise<Answer> {
  const change = (body: object): Promise<Answer> => it.operator(`PATCH ${accountOf(it)}/api-keys/${it.keyId}`, body);
  const [last = {}, ...first] = changes.toReversed();
  for (const body of first.toReversed()) expect((await change(body)).status).toBe(200);
  return await change(last);
}

const REFUSED: readonly (readonly [string, Act])[] = [
  ['an app', ({ muster, apiKey }) => call(`${muster.api}/v1/apps`, { method: 'POST', token: apiKey })],
  [
    'a code',
    ({ muster, apiKey, active }) =>
      call(`${muster.api}/v1/apps/${active.appId}/enroll-code`, { method: 'POST', token: apiKey }),
  ],
  ['another endpoint', ({ muster, apiKey }) => setOtel(muster, apiKey, { endpoint: 'https://b.example.com' })],
  ['another header', ({ muster, apiKey }) => setOtel(muster, apiKey, { authHeader: 'Bearer other' })],
  [
    'another header while the export is switched off',
    ({ muster, apiKey }) => setOtel(muster, apiKey, { enabled: false, authHeader: 'Bearer other' }),
  ],
  ['an enrollment', ({ muster, pending }) => sendEnroll(muster, pending)],
  ['an acknowledgement', (it) => device(it, '/config/ack', { revision: 1, status: 'applied' })],
  ['a detection', (it) => sendDetections(it.muster, it.credential, [detection({})])],
  ['an account', ({ operator }) => operator('POST /accounts', { name: 'n', entitlement: 'standard' })],
  ['an API key', (it) => it.operator(`POST ${accountOf(it)}/api-keys`)],
  ['an end of a key that is brought forward again', (it) => narrowed(it, ENDS.later, ENDS.sooner)],
  ['ranges of a key that are narrowed again', (it) => narrowed(it, RANGES.wider, RANGES.narrower)],
  ['another name of the account', (it) => it.operator(`PATCH ${accountOf(it)}`, { name: 'other' })],
];

const TAKEN: readonly (readonly [string, number, Act])[] = [
  ['the revocation of an app', 200, ({ muster, apiKey, active }) => revoke(muster, apiKey, active.appId)],
  ['the deletion of an app', 204, ({ muster, apiKey, active }) => deleteApp(muster, apiKey, active.appId)],
  [
    'the removal of the header',
    200,
    ({ muster, apiKey }) => setOtel(muster, apiKey, { authHeader: '', evidenceLevel: 'full' }),
  ],
  ['the switching off of the export', 200, ({ muster, apiKey }) => setOtel(muster, apiKey, { enabled: false })],
  [
    'the purge of the configuration',
    200,
    ({ muster, apiKey }) => call(`${muster.api}/v1/otel-config`, { method: 'DELETE', token: apiKey }),
  ],
  ['the revocation of a key', 204, (it) => it.operator(`DELETE ${accountOf(it)}/api-keys/${it.keyId}`)],
  ['less access of a key', 200, (it) => narrowed(it, { access: 'read' })],
  ['less access of a key that was bound before', 200, (it) => narrowed(it, RANGES.wider, { access: 'enroll' })],
  ['the binding of a key to addresses', 200, (it) => narrowed(it, RANGES.wider)],
  ['an end of a key that had none', 200, (it) => narrowed(it, ENDS.later)],
  [
    'the disabling of the account',
    200,
    ({ muster, accountId }) => changeAccount(muster, accountId, { disabled: true }),
  ],
];

onEachBackend('A12: a full store', (backend) => {
  let faulty: FaultyStore;
  let muster: Muster;
  beforeAll(async () => {
    muster = await backend.fresh({ wrapStore: (store) => (faulty = faultyStore(store)) });
  });
  afterAll(() => muster[Symbol.asyncDispose]());

  async function at<T>(fullness: number, act: () => Promise<T>): Promise<T> {
    faulty.full = fullness;
    try {
      return await act();
    } finally {
      faulty.full = 0.5;
    }
  }

  test.each(REFUSED)('refuses %s from 80 % on, and takes it below', async (_, act) => {
    const it = await scene(muster);
    const answer = await at(0.8, () => act(it));
    expect(answer.status).toBe(502);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(await halfWritten(faulty, it.accountId)).toEqual([]);
    const below = await at(0.79, () => act(it));
    expect(below.status).toBeLessThan(300);
  });

  test.each(TAKEN)('takes %s at any fullness', async (_, status, act) => {
    const it = await scene(muster);
    const answer = await at(0.99, () => act(it));
    expect(answer.status).toBe(status);
    expect(faulty.changes.at(-1)).toMatchObject({ writeClass: 'vital' });
    expect(await halfWritten(faulty, it.accountId)).toEqual([]);
  });

  test('takes what withdraws once: what would allow it again is refused', async () => {
    const it = await scene(muster);
    const off = { enabled: false, endpoint: '', evidenceLevel: 'hashes' };
    expect((await at(0.9, () => setOtel(muster, it.apiKey, off))).status).toBe(200);
    expect((await at(0.9, () => setOtel(muster, it.apiKey))).status).toBe(502);
    expect((await at(0.9, () => setOtel(muster, it.apiKey, { ...off, evidenceLevel: 'full' }))).status).toBe(502);
    expect((await at(0.9, () => changeAccount(muster, it.accountId, { disabled: true }))).status).toBe(200);
    expect((await at(0.9, () => changeAccount(muster, it.accountId, { disabled: false }))).status).toBe(502);
  });

  test('lets a daemon in that was enrolled with a hash alone: its first request makes the binding final', async () => {
    const it = await scene(muster);
    const own = ownCredential();
    expect((await enrollOwn(muster, it.pending, own.hash)).status).toBe(200);
    const appKey = KEYS.app(it.accountId, it.pending.appId);
    const before = faulty.changes.length;
    await at(0.99, async () => expect((await poll(muster, own.token)).status).toBe(200));
    const changes = faulty.changes.slice(before);
    const confirming = changes.filter(({ write }) => write.some((one) => 'put' in one && one.put === appKey));
    expect(confirming.map(({ writeClass }) => writeClass)).toEqual(['vital']);
    await revoke(muster, it.apiKey, it.pending.appId);
    expect((await poll(muster, own.token)).status).toBe(401);
  });

  test('daemons poll, and what was revoked is refused', async () => {
    const it = await scene(muster);
    const code = await issueCode(muster, it.apiKey, it.active.appId);
    await at(0.99, async () => {
      const headers = { 'muster-agent-version': '2.0' };
      const polled = await call(`${muster.device}/device/v1/config`, { token: it.credential, headers });
      expect(polled.status).toBe(200);
      expect((await revoke(muster, it.apiKey, it.active.appId)).status).toBe(200);
      expect((await poll(muster, it.credential)).status).toBe(401);
    });
    expect((await sendEnroll(muster, code)).status).toBe(401);
  });

  test('a replica starts on it: one that took no more revocations would be restarted in vain', async () => {
    const wrapStore = (store: Store): Store => wrappedStore(store, { fullness: () => 0.99 });
    await using started = await backend.fresh({ wrapStore });
    expect((await call(`${started.ops}/readyz`)).body).toMatchObject({ status: 'ready' });
  });

  test('is measured by what the store answers: what is refused before has not reached it', async () => {
    const it = await scene(muster);
    const create = (): Promise<Answer> => call(`${muster.api}/v1/apps`, { method: 'POST', token: it.apiKey });
    const full = 'muster_store_operation_duration_seconds_count{operation="commit",result="full"}';
    const before = await metric(muster, full);
    expect((await at(0.8, create)).status).toBe(502);
    expect(await metric(muster, full)).toBe(before);
    faulty.trouble = 'full';
    faulty.down.add('commit');
    expect((await create()).status).toBe(502);
    faulty.down.clear();
    expect(await metric(muster, full)).toBeGreaterThan(before);
  });

  test('is ready, and says that it is full', async () => {
    const readyz = (): Promise<Answer> => call(`${muster.ops}/readyz`);
    const full = await at(0.8, readyz);
    expect(full).toMatchObject({
      status: 200,
      body: { status: 'ready', degraded: expect.stringContaining('80 % full') as string },
    });
    expect((await at(0.79, readyz)).body).toEqual({ status: 'ready' });
    expect((await at(Number.NaN, readyz)).body).toEqual({ status: 'ready' });
  });

  test('tells its fullness as NaN where it is not known, and never as 0', async () => {
    const scraped = async (fullness: number): Promise<string | undefined> => {
      const { text } = await at(fullness, () => call(`${muster.ops}/metrics`));
      return /^muster_store_fullness_ratio (.*)$/m.exec(text)?.[1];
    };
    expect(await scraped(Number.NaN)).toBe('Nan');
    expect(await scraped(0.25)).toBe('0.25');
  });
});
