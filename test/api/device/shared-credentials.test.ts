import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { LIMITS } from '../../../src/domain/limits.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { ask, panelMuster, signedIn, type PanelMuster } from '../../support/panel/panel-users.ts';
import { auditOf, metric, readApp, requestsInFlight, revoke } from '../../support/service/daemon.ts';
import { call, createApp, enroll, poll, tenant, type Muster, type Tenant } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { faultyForRequests, type FaultyStore } from '../../support/store/faulty-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** A machine: the id that its daemon sends, and the address that it comes from. */
interface Machine {
  readonly id?: string;
  readonly from?: string;
}
const headersOf = ({ id, from }: Machine): Record<string, string> => ({
  ...(id !== undefined && { 'muster-instance-id': id }),
  ...(from !== undefined && { 'x-forwarded-for': from }),
});
const [ONE, TWO, THREE] = [{ id: 'one' }, { id: 'two' }, { id: 'three' }] as const;
const at = (...addresses: readonly string[]): readonly Machine[] => addresses.map((from) => ({ from }));
const [HERE, THERE] = ['192.0.2.7', '198.51.100.7'];

/**
 * Counts and stalls what a finding reads and writes alone. Where memory is behind, as on a slow machine, a poll reads
 * the records of its app, its account and its credential in the store.
 */
function ofFindings(store: FaultyStore): FaultyStore {
  const own = [KEYS.opampAgent.under(), KEYS.audit.under()];
  store.isAside = (key) => !own.some((prefix) => key.startsWith(prefix));
  return store;
}

interface Daemon {
  readonly appId: string;
  readonly credential: string;
}

onEachBackend('machines that share a credential', (backend) => {
  const clock = new FakeClock();
  let panel: PanelMuster;
  let muster: Muster;
  let store: FaultyStore;
  let owner: Tenant;
  beforeAll(async () => {
    panel = await panelMuster(backend, {
      clock,
      env: { MUSTER_DEVICE_RATE_PER_MINUTE: '100000', MUSTER_TRUSTED_PROXIES: '127.0.0.0/8' },
      wrapStore: (real) => (store = ofFindings(faultyForRequests(real))),
    });
    ({ muster } = panel);
    owner = await tenant(muster);
  });
  afterEach(() => store.down.clear());
  afterAll(() => panel[Symbol.asyncDispose]());

  async function daemon(): Promise<Daemon> {
    const app = await createApp(muster, owner.apiKey);
    return { appId: app.appId, credential: await enroll(muster, app) };
  }
  const polled = async ({ credential }: Daemon, machine: Machine): Promise<void> => {
    expect((await poll(muster, credential, headersOf(machine))).status).toBe(200);
  };
  const told = async (appId: string) =>
    (await auditOf(muster, owner.accountId)).filter(
      (entry) => entry.action === 'credential.shared' && entry.appId === appId,
    );
  const becomesTold = (appId: string, times = 1): Promise<void> =>
    until(async () => (await told(appId)).length === times);
  const counted = (): Promise<number> => metric(muster, 'muster_opamp_shared_credentials_total');

  /** What was found before is told by the time that a later finding is. */
  async function settle(): Promise<void> {
    const other = await daemon();
    for (const machine of [ONE, TWO, ONE, TWO]) await polled(other, machine);
    await becomesTold(other.appId);
  }

  test.each<[why: string, machines: readonly Machine[]]>([
    ['two instances behind one address', [ONE, TWO, ONE, TWO]],
    ['each polls more than once before the other one does', [ONE, ONE, TWO, TWO, ONE, TWO]],
    ['three of them', [ONE, TWO, THREE, ONE, TWO]],
    ['two networks of IPv4', at(HERE, THERE, HERE, THERE)],
    ['neighbouring networks of IPv4', at('192.0.2.255', '192.0.3.0', '192.0.2.0', '192.0.3.255')],
    ['two networks of IPv6', at('2001:db8:1::1', '2001:db8:2::1', '2001:db8:1:ffff::2', '2001:db8:2::9')],
    ['one of them without an id', [{ ...ONE, from: HERE }, { from: THERE }, { ...ONE, from: HERE }, { from: THERE }]],
    ['one of them with both families', at(HERE, '2001:db8:1::1', THERE, HERE, '2001:db8:1::1', THERE)],
  ])('are told: %s', async (_, machines) => {
    const own = await daemon();
    const before = await counted();
    for (const machine of machines) await polled(own, machine);
    await becomesTold(own.appId);
    expect(await told(own.appId)).toMatchObject([{ appId: own.appId, actor: `device:${own.appId}` }]);
    await until(async () => (await counted()) === before + 1);
    const logged = muster.logged.filter((line) => line.includes('two instances use one credential'));
    expect(logged.filter((line) => line.includes(own.appId))).toHaveLength(1);
  });

  test.each<[why: string, machines: readonly Machine[]]>([
    ['a machine that is alone', [ONE, ONE, ONE, ONE]],
    ['a restart', [ONE, ONE, TWO, TWO]],
    ['many restarts', ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k'].map((id) => ({ id }))],
    ['a late poll of the one before a restart', [ONE, TWO, ONE]],
    ['a machine that moves to another network', at(HERE, HERE, THERE, THERE)],
    ['one that comes back', at(HERE, THERE, HERE)],
    ['a NAT with many addresses', at('192.0.2.1', '192.0.2.200', '192.0.2.1', '192.0.2.200')],
    ['a NAT with addresses of two networks', at(HERE, THERE, HERE, THERE).map((one) => ({ ...one, id: 'one' }))],
    ['a network of IPv6', at('2001:db8:1:1::1', '2001:db8:1:2::1', '2001:db8:1:1::1', '2001:db8:1:2::1')],
    ['a machine with both families', at(HERE, '2001:db8::1', HERE, '2001:db8::1', HERE, '2001:db8::1')],
    ['a mapped address', at(HERE, `::ffff:${HERE}`, HERE, `::ffff:${HERE}`)],
    ['a proxy that does not always say who comes', [{ from: HERE }, {}, { from: HERE }, {}]],
    ['an id that is not always sent', [ONE, {}, ONE, {}]],
    ['ids that are none', ['', 'é', 'x'.repeat(129), 'y'.repeat(130)].flatMap((id) => [ONE, { id }])],
  ])('are not told: %s', async (_, machines) => {
    const own = await daemon();
    for (const machine of machines) await polled(own, machine);
    await settle();
    expect(await told(own.appId)).toEqual([]);
  });

  test.each([
    [200, 1, 'ten minutes'],
    [201, 0, 'three seconds more'],
  ])('turns of every %i s are told %i times: four of them take %s', async (seconds, times) => {
    const own = await daemon();
    for (const machine of [ONE, TWO, ONE]) {
      await polled(own, machine);
      clock.advance(seconds * SECOND_MS);
    }
    await polled(own, TWO);
    if (times > 0) await becomesTold(own.appId);
    await settle();
    expect(await told(own.appId)).toHaveLength(times);
  });

  test('an acknowledgement beside polls tells nothing of who polls', async () => {
    const own = await daemon();
    for (let turn = 0; turn < 3; turn += 1) {
      await polled(own, { ...ONE, from: HERE });
      const body = { revision: 0, status: 'applied' };
      const headers = headersOf({ ...TWO, from: THERE });
      const ack = await call(`${muster.device}/device/v1/config/ack`, {
        method: 'POST',
        token: own.credential,
        body,
        headers,
      });
      expect(ack.status).toBe(204);
    }
    await settle();
    expect(await told(own.appId)).toEqual([]);
  });

  test('two apps tell nothing of each other', async () => {
    const [mine, yours] = [await daemon(), await daemon()];
    for (const [own, machine] of [
      [mine, ONE],
      [yours, TWO],
      [mine, ONE],
      [yours, TWO],
    ] as const) {
      await polled(own, machine);
    }
    await settle();
    expect([...(await told(mine.appId)), ...(await told(yours.appId))]).toEqual([]);
  });

  test('held polls count when they come', async () => {
    const own = await daemon();
    const etag = (await poll(muster, own.credential)).headers.get('etag') ?? '';
    const ended = new AbortController();
    const held: Promise<unknown>[] = [];
    for (const machine of [ONE, TWO]) {
      const headers = { ...headersOf(machine), 'if-none-match': etag, prefer: 'wait=50' };
      const url = `${muster.device}/device/v1/config`;
      held.push(call(url, { token: own.credential, headers, signal: ended.signal }).catch(() => undefined));
      await until(async () => (await requestsInFlight(muster)).device === held.length);
    }
    for (const machine of [ONE, TWO]) await polled(own, machine);
    await becomesTold(own.appId);
    ended.abort();
    await Promise.all(held);
  });

  describe('those that go on', () => {
    test('are told once an hour, and cost neither a write nor a read of the store with a poll', async () => {
      const own = await daemon();
      const turns = async (): Promise<void> => {
        for (let turn = 0; turn < 20; turn += 1) for (const each of [ONE, TWO]) await polled(own, each);
      };
      for (const machine of [ONE, TWO, ONE, TWO]) await polled(own, machine);
      await becomesTold(own.appId);
      const before = [store.changes.length, store.calls.get];
      await turns();
      expect([store.changes.length, store.calls.get]).toEqual(before);
      clock.advance(HOUR_MS);
      await turns();
      await becomesTold(own.appId, 2);
    });

    test('are shown with the app for two hours after they were last found', async () => {
      const own = await daemon();
      const user = await signedIn(panel.store, { accounts: [{ accountId: owner.accountId, role: 'viewer' }] });
      const shown = async (): Promise<unknown> =>
        (await ask(panel, user, `/accounts/${owner.accountId}/apps/${own.appId}`)).body['sharedAt'];
      expect(await shown()).toBeNull();
      const found = new Date(clock.now()).toISOString();
      for (const machine of [ONE, TWO, ONE, TWO]) await polled(own, machine);
      await becomesTold(own.appId);
      expect(await shown()).toBe(found);
      clock.advance(2 * HOUR_MS - 1);
      expect(await shown()).toBe(found);
      clock.advance(1);
      expect(await shown()).toBeNull();
    });

    test('are cut off by a revocation, and the next machine is not judged by them', async () => {
      const own = await daemon();
      for (const machine of [ONE, TWO, ONE, TWO]) await polled(own, machine);
      await becomesTold(own.appId);
      await revoke(muster, owner.apiKey, own.appId);
      expect((await poll(muster, own.credential, headersOf(ONE))).status).toBe(401);
      expect(await readApp(muster, owner.apiKey, own.appId)).toMatchObject({ status: 'revoked' });
    });
  });

  test('that are found all at once are told so many at a time; the others a minute later', async () => {
    const found: Daemon[] = [];
    while (found.length <= LIMITS.sharingToldAtOnceMax) found.push(await daemon());
    const before = store.calls.get;
    const release = store.stall('get');
    for (const own of found) for (const machine of [ONE, TWO, ONE, TWO]) await polled(own, machine);
    await until(async () => store.calls.get - before >= LIMITS.sharingToldAtOnceMax);
    release();
    const last = found.pop()!;
    for (const own of found) await becomesTold(own.appId);
    await settle();
    expect(await told(last.appId)).toEqual([]);
    clock.advance(MINUTE_MS);
    for (const machine of [ONE, TWO, ONE, TWO]) await polled(last, machine);
    await becomesTold(last.appId);
  });

  test('a full store keeps no poll waiting; they are told once it takes the entry', async () => {
    const own = await daemon();
    store.trouble = 'full';
    store.down.add('commit');
    const before = await counted();
    for (const machine of [ONE, TWO, ONE, TWO]) await polled(own, machine);
    await until(() => muster.logged.some((line) => line.includes('a shared credential was not told')));
    expect([await counted(), (await told(own.appId)).length]).toEqual([before, 0]);
    store.down.clear();
    clock.advance(MINUTE_MS);
    for (const machine of [ONE, TWO, ONE, TWO]) await polled(own, machine);
    await becomesTold(own.appId);
  });
});
