import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DeviceClient, MusterError, OperatorClient, OwnerClient } from '#client';
import { fetchIn } from '../../support/http/fetch-in-world.ts';
import { LossyProxy, type Fate } from '../../support/http/lossy-proxy.ts';
import { enroll, Muster, OPERATOR_TOKEN, tenant, type Tenant } from '../../support/service/muster.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { SimulatedWorld } from '../../support/time/simulated-world.ts';

/* The client before the real service, with a proxy in between that loses, breaks and refuses. */

let muster: Muster;
const clock = new FakeClock();
beforeAll(async () => {
  muster = await Muster.start({ clock });
});
afterAll(async () => await muster[Symbol.asyncDispose]());

const FAULTS: readonly Fate[] = ['lost', 'cut', 'reset', 'hung', 502, 503, 429];
/** Those that a request may not survive which must not be carried out twice: nobody knows whether it was. */
const UNKNOWN: ReadonlySet<Fate> = new Set<Fate>(['lost', 'cut', 'reset', 'hung', 502, 503]);

/** A world with a proxy that treats the first request so, and lets the others through. */
async function faulty(target: string, fate: Fate) {
  const proxy = await LossyProxy.before(target);
  proxy.fate = () => (proxy.seen.length === 0 ? fate : 'through');
  const world = new SimulatedWorld((ms) => clock.advance(ms));
  const options = { url: proxy.url, timing: world, fetch: fetchIn(world, proxy) };
  return { proxy, world, options, [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose]() };
}

describe.each(FAULTS)('an owner whose first request is met with %s', (fate) => {
  /** The call with a client behind the fault, which must have sent it twice. */
  async function met<T>({ apiKey }: Tenant, call: (owner: OwnerClient) => Promise<T>): Promise<T> {
    await using behind = await faulty(muster.api, fate);
    const result = await behind.world.until(call(new OwnerClient({ ...behind.options, apiKey })));
    const [first, ...others] = behind.proxy.seen;
    // A 204 has no body to cut.
    const isWhole = fate === 'cut' && first?.method === 'DELETE' && result === undefined;
    expect(others.map((one) => one.fate)).toEqual(isWhole ? [] : ['through']);
    return result;
  }
  const straight = ({ apiKey }: Tenant): OwnerClient => new OwnerClient({ url: muster.api, apiKey });

  test('creates one app, whose code works', async () => {
    const account = await tenant(muster);
    const created = await met(account, (owner) => owner.createApp({ name: 'once' }));
    expect((await straight(account).listApps()).apps.map(({ appId }) => appId)).toEqual([created.appId]);
    expect(await enroll(muster, created)).toMatch(/^mst_dev_/);
  });

  test('issues one code, which works', async () => {
    const account = await tenant(muster);
    const { appId } = await straight(account).createApp();
    const { enrollCode } = await met(account, (owner) => owner.issueEnrollCode(appId));
    expect(await enroll(muster, { appId, enrollCode })).toMatch(/^mst_dev_/);
  });

  test('revokes, and deletes', async () => {
    const account = await tenant(muster);
    const { appId } = await straight(account).createApp();
    expect(await met(account, (owner) => owner.revokeApp(appId))).toEqual({ appId, status: 'revoked' });
    expect(await met(account, (owner) => owner.deleteApp(appId))).toBeUndefined();
    expect((await straight(account).listApps()).apps).toEqual([]);
  });

  test('stores, reads and purges the configuration', async () => {
    const account = await tenant(muster);
    const endpoint = 'https://collector.example.com';
    const stored = await met(account, (owner) => owner.storeOtelConfig({ enabled: true, endpoint }));
    expect(await met(account, (owner) => owner.readOtelConfig())).toEqual(stored);
    expect(await met(account, (owner) => owner.purgeOtelConfig())).toEqual({ deleted: true });
  });
});

test('a 404 is success only where an earlier attempt may have deleted', async () => {
  const account = await tenant(muster);
  for (const fate of [429, 'lost'] as const) {
    await using behind = await faulty(muster.api, fate);
    const owner = new OwnerClient({ ...behind.options, apiKey: account.apiKey });
    const deleted = behind.world.until(owner.deleteApp('a'.repeat(20))).then(
      () => 'deleted',
      (error: unknown) => (error as MusterError).code,
    );
    // A 429 carried nothing out.
    expect(await deleted).toBe(fate === 'lost' ? 'deleted' : 'not_found');
  }
});

test('a create that nobody has answered is followed up by the key of its error, which the client drew', async () => {
  const account = await tenant(muster);
  await using behind = await faulty(muster.api, 'lost');
  behind.proxy.fate = () => (behind.proxy.seen.length === 0 ? 'lost' : 502);
  const body = { name: 'unknown' };
  const owner = new OwnerClient({ ...behind.options, apiKey: account.apiKey });
  const error: unknown = await behind.world.until(owner.createApp(body)).catch((error: unknown) => error);
  if (!(error instanceof MusterError)) throw error;
  expect(error).toMatchObject({ code: 'timeout', mayBeDone: true });
  const straight = new OwnerClient({ url: muster.api, apiKey: account.apiKey });
  const { appId } = await straight.createApp(body, { idempotencyKey: error.idempotencyKey });
  expect((await straight.listApps()).apps.map((app) => app.appId)).toEqual([appId]);
});

describe('the operator', () => {
  test.each(FAULTS)('creates by one key, changes and revokes after %s', async (fate) => {
    const { accountId, keyId } = await tenant(muster);
    const straight = new OperatorClient({ url: muster.ops, token: OPERATOR_TOKEN });
    async function met<T>(call: (operator: OperatorClient) => Promise<T>): Promise<T> {
      await using behind = await faulty(muster.ops, fate);
      const operator = new OperatorClient({ ...behind.options, token: OPERATOR_TOKEN });
      const result = await behind.world.until(call(operator));
      const [first, second, ...others] = behind.proxy.seen.map(({ headers }) => headers['idempotency-key']);
      expect(others).toEqual([]);
      expect(first).toBe(second);
      return result;
    }
    const name = `after ${fate}`;
    const account = await met((operator) => operator.createAccount({ name, entitlement: 'standard' }));
    const named: string[] = [];
    for await (const one of straight.accounts()) if (one.name === name) named.push(one.accountId);
    expect(named).toEqual([account.accountId]);
    const { apiKey, keyId: second } = await met((operator) => operator.createApiKey(accountId));
    const { apiKeys } = await straight.listApiKeys(accountId);
    expect(apiKeys.map((one) => one.keyId).toSorted()).toEqual([keyId, second].toSorted());
    expect((await new OwnerClient({ url: muster.api, apiKey }).listApps()).apps).toEqual([]);
    expect(await met((operator) => operator.changeAccount(accountId, { name: 'm' }))).toMatchObject({ name: 'm' });
    await met((operator) => operator.revokeApiKey(accountId, keyId));
  });

  test.each(FAULTS)(
    'streams a backup whose first request is met with %s, or is told that it broke off',
    async (fate) => {
      await using proxy = await LossyProxy.before(muster.ops);
      proxy.fate = () => (proxy.seen.length === 0 ? fate : 'through');
      const operator = new OperatorClient({ url: proxy.url, token: OPERATOR_TOKEN, random: () => 0 });
      const controller = new AbortController();
      // A stream may take its time: only its caller ends one that says nothing.
      if (fate === 'hung') proxy.hung = () => controller.abort();
      const read = async (): Promise<string> => {
        const { body } = await operator.readBackup({}, { signal: controller.signal });
        let bytes = 0;
        for await (const piece of body) bytes += piece.length;
        return bytes > 0 ? 'whole' : 'empty';
      };
      const told = await read().catch((error: unknown) => (error instanceof MusterError ? error.code : error));
      expect(told).toBe(fate === 'cut' ? 'network' : fate === 'hung' ? 'aborted' : 'whole');
    },
  );
});

describe('a daemon', () => {
  /** A credential of the daemon's own making, with its SHA-256. */
  const made = (fate: Fate) => {
    const credential = `mst_dev_${'d'.repeat(43)}${fate}`;
    return { credential, credentialHash: createHash('sha256').update(credential).digest('hex') };
  };
  const pending = async () =>
    await new OwnerClient({ url: muster.api, apiKey: (await tenant(muster)).apiKey }).createApp();

  test.each(FAULTS)('enrolls by a hash, and polls, after %s', async (fate) => {
    const { appId, enrollCode } = await pending();
    await using behind = await faulty(muster.device, fate);
    const device = new DeviceClient(behind.options);
    const { credential, credentialHash } = made(fate);
    const request = { appId, enrollCode, credentialHash };
    const enrolled = await behind.world.until(device.enrollDevice(request, { credential }));
    expect(enrolled).toMatchObject({ appId, status: 'active' });
    behind.proxy.seen.length = 0;
    device.useCredential(credential);
    expect((await behind.world.until(device.pollConfig())).changed).toBe(true);
  });

  test.each(FAULTS)('reports and acknowledges once, whatever %s makes of it', async (fate) => {
    const app = await pending();
    const credential = await enroll(muster, app);
    await using behind = await faulty(muster.device, fate);
    const device = new DeviceClient({ ...behind.options, credential });
    const call = behind.world.until(device.acknowledgeConfig({ revision: 0, status: 'applied' }));
    const told = await call.catch((error: unknown) => (error as MusterError).code);
    expect(behind.proxy.seen).toHaveLength(UNKNOWN.has(fate) ? 1 : 2);
    const codes: Partial<Record<Fate, string>> = {
      hung: 'timeout',
      502: 'upstream_unavailable',
      503: 'upstream_unavailable',
    };
    // A 204 has no body to cut.
    expect(told).toBe(UNKNOWN.has(fate) && fate !== 'cut' ? (codes[fate] ?? 'network') : undefined);
  });

  test('enrolls once without a hash: a second try would find the code used', async () => {
    const { appId, enrollCode } = await pending();
    await using behind = await faulty(muster.device, 'lost');
    const device = new DeviceClient(behind.options);
    await expect(behind.world.until(device.enrollDevice({ appId, enrollCode }))).rejects.toMatchObject({
      code: 'network',
    });
    expect(behind.proxy.seen).toHaveLength(1);
  });
});

test('1000 creates by a loop on the real service: within 130 s, without a 429', async () => {
  const { apiKey } = await tenant(muster);
  const world = new SimulatedWorld((ms) => clock.advance(ms));
  const startedAt = world.now();
  const statuses = new Set<number>();
  const real = fetchIn(world);
  const fetch: typeof globalThis.fetch = async (...request) => {
    const response = await real(...request);
    statuses.add(response.status);
    await world.sleep(10);
    return response;
  };
  const owner = new OwnerClient({ url: muster.api, apiKey, timing: world, fetch });
  const ids = new Set<string>();
  await world.until(
    (async () => {
      for (let count = 0; count < 1000; count += 1) ids.add((await owner.createApp()).appId);
    })(),
  );
  expect(ids.size).toBe(1000);
  expect(statuses).toEqual(new Set([201]));
  expect(world.now() - startedAt).toBeLessThan(130_000);
});

test('300 creates side by side through faults of every kind: 300 apps, every code good once, and no second app', async () => {
  const { apiKey } = await tenant(muster);
  await using proxy = await LossyProxy.before(muster.api, 15);
  proxy.odds = { lost: 0.05, cut: 0.03, reset: 0.03, hung: 0.01, 502: 0.03, 503: 0.02, 429: 0.02 };
  const world = new SimulatedWorld((ms) => clock.advance(ms));
  const owner = new OwnerClient({ url: proxy.url, apiKey, timing: world, fetch: fetchIn(world, proxy) });
  const names = Array.from({ length: 300 }, (_, number) => `edge ${number}`);
  const left = [...names];
  const created = new Map<string, { appId: string; enrollCode: string }>();
  const worker = async (): Promise<void> => {
    for (let name = left.shift(); name !== undefined; name = left.shift())
      created.set(name, await owner.createApp({ name }));
  };
  await world.until(Promise.all(Array.from({ length: 12 }, worker)));
  expect(new Set(proxy.seen.map(({ fate }) => fate))).toEqual(new Set(['through', ...FAULTS]));

  const { apps } = await new OwnerClient({ url: muster.api, apiKey }).listApps();
  expect(apps.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
  for (const app of apps) expect(created.get(app.name)?.appId).toBe(app.appId);
  const credentials = await Promise.all(Array.from(created.values(), (app) => enroll(muster, app)));
  expect(new Set(credentials).size).toBe(300);

  for (const { appId } of apps.slice(0, 60)) await world.until(owner.revokeApp(appId));
  for (const { appId } of apps.slice(0, 60)) await world.until(owner.deleteApp(appId));
  expect((await world.until(owner.listApps())).apps).toHaveLength(240);
});
