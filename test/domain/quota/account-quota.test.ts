import { expect, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { parseRecord } from '../../../src/domain/records/codec.ts';
import { ownBytesOf } from '../../../src/domain/audit/own-bytes.ts';
import { LIMITS } from '../../../src/domain/limits.ts';
import type { Store } from '../../../src/store/port.ts';
import {
  ask,
  panelMuster,
  rewrite,
  signedIn,
  type Browser,
  type PanelMuster,
} from '../../support/panel/panel-users.ts';
import { writeEntry } from '../../support/records/audit.ts';
import { entriesOf } from '../../support/service/accounts.ts';
import {
  call,
  createApp,
  enroll,
  OPERATOR_TOKEN,
  poll,
  tenant,
  type Answer,
  type Muster,
  type Tenant,
} from '../../support/service/muster.ts';
import { askBy, makeToken, type AccessToken } from '../../support/panel/access-tokens/tokens.ts';
import { deleteApp, issueCode, metric, revoke, setOtel } from '../../support/service/daemon.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { untilPassing } from '../../support/time/until-passing.ts';

const MIB = 1024 * 1024;
/** A long entry, so that an account is at a quota of 1 MiB without thousands of requests. */
const ENTRY_BYTES = 20_000;

/** Puts entries of an actor into the audit of an account, as so many of its changes would leave them. */
async function plant(store: Store, clock: FakeClock, accountId: string, actor: string, bytes: number): Promise<void> {
  const long = { actor, action: 'app.changed', detail: { text: 'x'.repeat(ENTRY_BYTES) } };
  for (let left = bytes; left > 0; left -= ENTRY_BYTES) await writeEntry(store, clock.now(), accountId, long);
}

const accountAt = ({ ops }: Muster, accountId: string): string => `${ops}/operator/v1/accounts/${accountId}`;
const accountOf = async (muster: Muster, { accountId }: Tenant): Promise<Answer['body']> =>
  (await call(accountAt(muster, accountId), { token: OPERATOR_TOKEN })).body;
const setQuota = (muster: Muster, { accountId }: Tenant, quotaMb: number | null): Promise<Answer> =>
  call(accountAt(muster, accountId), { method: 'PATCH', token: OPERATOR_TOKEN, body: { quotaMb } });
const create = ({ api }: Muster, { apiKey }: Tenant): Promise<Answer> =>
  call(`${api}/v1/apps`, { method: 'POST', token: apiKey, body: { name: 'more' } });

/** Lets the leader seal and count until the account stores as much as this. */
const untilStored = (
  muster: Muster,
  clock: FakeClock,
  owner: Tenant,
  holds: (bytes: number) => boolean,
): Promise<void> => untilPassing(clock, async () => holds(Number((await accountOf(muster, owner))['storedBytes'])));

/** The instants of a session that was just opened. */
const sessionAt = (
  clock: FakeClock,
): { createdAt: number; expiresAt: number; proof: { at: number; by: 'password' } } => ({
  createdAt: clock.now(),
  expiresAt: clock.now() + 86_400_000,
  proof: { at: clock.now(), by: 'password' },
});

interface Full extends PanelMuster {
  readonly clock: FakeClock;
  readonly owner: Tenant;
}

onEachBackend('the quota of an account', (backend) => {
  /** An account that has used up its quota of 1 MiB, with an app that waits, and one that is enrolled. */
  async function atQuota(): Promise<
    Full & { readonly credential: string; readonly waiting: { appId: string; enrollCode: string } }
  > {
    const clock = new FakeClock();
    const { muster, store, ...rest } = await panelMuster(backend, { clock });
    const owner = await tenant(muster);
    expect((await setQuota(muster, owner, 1)).body).toMatchObject({ quotaMb: 1 });
    const waiting = await createApp(muster, owner.apiKey);
    const credential = await enroll(muster, await createApp(muster, owner.apiKey));
    await setOtel(muster, owner.apiKey);
    await plant(store, clock, owner.accountId, `key:${owner.keyId}`, MIB);
    await untilStored(muster, clock, owner, (bytes) => bytes >= MIB);
    return { muster, store, clock, owner, credential, waiting, ...rest };
  }

  test('refuses its own growth in words, and nothing else', async () => {
    await using full = await atQuota();
    const { muster, owner, credential, waiting } = full;
    const says = /used up its quota of 1 MiB.*Revoking, deleting and purging go on/;
    const renewed = (appId: string): Promise<Answer> =>
      call(`${muster.api}/v1/apps/${appId}/enroll-code`, { method: 'POST', token: owner.apiKey });
    for (const refused of [
      await create(muster, owner),
      await setOtel(muster, owner.apiKey, { endpoint: 'https://other.example.com' }),
      await renewed(waiting.appId),
    ]) {
      expect(refused).toMatchObject({ status: 502, body: { error: { code: 'upstream_unavailable' } } });
      expect(refused.text).toMatch(says);
    }
    // Daemons, what takes access away or frees space, reads, and all other accounts.
    const enrolled = await enroll(muster, waiting);
    expect((await poll(muster, credential)).status).toBe(200);
    expect((await revoke(muster, owner.apiKey, waiting.appId)).status).toBe(200);
    expect((await poll(muster, enrolled)).status).toBe(401);
    // A create that is refused takes no delete along that shares its commit.
    const together = [create(muster, owner), deleteApp(muster, owner.apiKey, waiting.appId), create(muster, owner)];
    expect((await Promise.all(together)).map(({ status }) => status)).toEqual([502, 204, 502]);
    expect((await call(`${muster.api}/v1/otel-config`, { method: 'DELETE', token: owner.apiKey })).status).toBe(200);
    expect((await call(`${muster.api}/v1/apps`, { token: owner.apiKey })).status).toBe(200);
    const other = await tenant(muster);
    expect((await create(muster, other)).status).toBe(201);
  });

  test('ends where the operator raises it, and the operator is not bound by it', async () => {
    await using full = await atQuota();
    const { muster, store, clock, owner } = full;
    const keys = `${accountAt(muster, owner.accountId)}/api-keys`;
    expect((await call(keys, { method: 'POST', token: OPERATOR_TOKEN })).status).toBe(201);
    const operator = await signedIn(store, { operator: true }, sessionAt(clock));
    const raised = await ask(full, operator, `/accounts/${owner.accountId}`, { method: 'PATCH', body: { quotaMb: 2 } });
    expect(raised).toMatchObject({ status: 200, body: { quotaMb: 2 } });
    expect((await create(muster, owner)).status).toBe(201);
    expect((await setQuota(muster, owner, 1)).status).toBe(200);
    expect((await create(muster, owner)).status).toBe(502);
    expect((await setQuota(muster, owner, 0)).body, 'none').toMatchObject({ quotaMb: 0 });
    expect((await create(muster, owner)).status).toBe(201);
    expect((await setQuota(muster, owner, null)).body, 'that of the installation').toMatchObject({ quotaMb: 1024 });
  });

  test('bounds no operator on the pages of the account, and charges nothing of that', async () => {
    await using full = await atQuota();
    const { store, clock, owner } = full;
    const operator = await signedIn(store, { operator: true }, sessionAt(clock));
    const made = async (path: string, body: object): Promise<number> =>
      (await ask(full, operator, `/accounts/${owner.accountId}/${path}`, { method: 'POST', body })).status;
    expect(await made('apps', { name: 'x' })).toBe(201);
    expect(await made('api-keys', { name: 'x' })).toBe(201);
    expect(await made('invitations', { role: 'viewer' })).toBe(201);
    const entries = await entriesOf(store, KEYS.audit.under(owner.accountId));
    const theirs = entries.filter(({ value }) => value.includes(operator.userId));
    expect(theirs).toHaveLength(3);
    expect(theirs.map((entry) => ownBytesOf(entry))).toEqual([0, 0, 0]);
  });

  test('bounds no operator by an access token either, and an owner by one', async () => {
    await using full = await atQuota();
    const { muster, store, clock, owner } = full;
    const { accountId } = owner;
    const [operator, member] = [
      await signedIn(store, { operator: true }, sessionAt(clock)),
      await signedIn(store, { accounts: [{ accountId, role: 'owner' }] }, sessionAt(clock)),
    ];
    const wanted = { accountId, role: 'owner', expiresAt: new Date(clock.now() + 3_600_000).toISOString() } as const;
    await setQuota(muster, owner, 0);
    const [ofOperator, ofMember] = [await makeToken(full, operator, wanted), await makeToken(full, member, wanted)];
    await setQuota(muster, owner, 1);
    const made = (token: AccessToken): Promise<Answer> =>
      askBy(full, token, `/accounts/${accountId}/apps`, { method: 'POST', body: { name: 'x' } });
    expect((await made(ofMember)).text).toMatch(/used up its quota of 1 MiB/);
    expect((await made(ofOperator)).status).toBe(201);
    const entries = await entriesOf(store, KEYS.audit.under(accountId));
    const theirs = entries.filter(({ value }) => value.includes(`user:${operator.userId}:${ofOperator.tokenId}`));
    expect(theirs.map((entry) => ownBytesOf(entry))).toEqual([0]);
  });

  test('is no outage to the objectives of the service', async () => {
    await using full = await atQuota();
    const { muster, owner } = full;
    const refused = await create(muster, owner);
    // Nobody repeats it within seconds: a person must raise the quota.
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([502, '3600']);
    const { text } = await call(`${muster.ops}/metrics`);
    const counts = text
      .split('\n')
      .filter((line) => /^muster_http_request_duration_seconds_count.*status="502"/.test(line));
    expect(counts).toEqual([expect.stringContaining('code="quota"')]);
  });

  test('is joined by a bound on what a person changes and takes along, which no account is charged with', async () => {
    const clock = new FakeClock();
    await using full = await panelMuster(backend, { clock });
    const { muster, store } = full;
    const owner = await tenant(muster);
    const accounts = [{ accountId: owner.accountId, role: 'viewer' }] as const;
    const [wild, other] = [
      await signedIn(store, { accounts }, sessionAt(clock)),
      await signedIn(store, { accounts }, sessionAt(clock)),
    ];
    const rename = (browser: Browser, round: number): Promise<Answer> =>
      ask(full, browser, '/me', { method: 'PATCH', body: { name: `Ann ${round}` } });
    const month = new Date(clock.now()).toISOString().slice(0, 7);
    const usage = (browser: Browser): Promise<Answer> =>
      ask(full, browser, `/accounts/${owner.accountId}/usage?month=${month}&format=csv`);
    for (let round = 0; round < LIMITS.ownChangesBurst; round += 1) {
      expect((await rename(wild, round)).status).toBe(200);
      expect((await usage(wild)).status).toBe(200);
    }
    for (const refused of [await rename(wild, 99), await usage(wild)]) {
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1800']);
      expect(refused.text).toContain('very often');
    }
    expect((await rename(other, 99)).status, 'somebody else').toBe(200);
    clock.advance(1_800_000);
    expect((await rename(wild, 100)).status, 'one more after half an hour').toBe(200);
    expect((await rename(wild, 101)).status).toBe(429);
  });

  test('is told to its people from 80 % on, and holds in the panel', async () => {
    await using full = await atQuota();
    const { muster, store, clock, owner } = full;
    const browser = await signedIn(
      store,
      { accounts: [{ accountId: owner.accountId, role: 'owner' }] },
      sessionAt(clock),
    );
    const overview = `/accounts/${owner.accountId}/overview`;
    expect((await ask(full, browser, overview)).body['storage']).toMatchObject({ quotaBytes: MIB, near: true });
    const apps = `/accounts/${owner.accountId}/apps`;
    const refused = await ask(full, browser, apps, { method: 'POST', body: { name: 'more' } });
    expect(refused.status).toBe(502);
    expect(refused.text).toMatch(/used up its quota of 1 MiB/);
    await untilPassing(clock, async () => (await metric(muster, 'muster_accounts_at_quota')) === 1);
    expect(await metric(muster, 'muster_accounts_near_quota')).toBe(1);
    expect(muster.logged.filter((line) => line.includes('has used up its quota'))).toHaveLength(1);
    await setQuota(muster, owner, 10);
    expect((await ask(full, browser, overview)).body['storage']).toMatchObject({ quotaBytes: 10 * MIB, near: false });
    await untilPassing(clock, async () => (await metric(muster, 'muster_accounts_near_quota')) === 0);
  });

  test('counts keys, people and custom resources, and neither strangers, daemons, operators nor the service', async () => {
    const clock = new FakeClock();
    await using full = await panelMuster(backend, { clock });
    const { muster, store } = full;
    const owners = new Map<string, Tenant>();
    const own = ['key:n4c8r2w6y1z5', 'user:p7q2r9s4t1u6v3w8', 'kubernetes:production/FleetApp/web'];
    for (const actor of [...own, 'device:a1', 'muster', 'operator', 'operator:ci']) {
      const owner = await tenant(muster);
      owners.set(actor, owner);
      await setQuota(muster, owner, 1);
      await plant(store, clock, owner.accountId, actor, MIB / 4);
    }
    for (const [actor, owner] of owners) {
      if (own.includes(actor)) await untilStored(muster, clock, owner, (bytes) => bytes > MIB / 3);
    }
    for (const [actor, owner] of owners) {
      const stored = Number((await accountOf(muster, owner))['storedBytes']);
      expect({ actor, isCharged: stored > MIB / 3 }).toEqual({ actor, isCharged: own.includes(actor) });
      expect(stored).toBeLessThan(MIB / 2);
    }
  });

  test('holds for a store without a count once the leader has counted it, and a wrong count is counted anew', async () => {
    await using full = await atQuota();
    const { muster, store, clock, owner } = full;
    const key = KEYS.chain(owner.accountId);
    const own = async (): Promise<object | undefined> => {
      const entry = await store.get(key);
      return entry && parseRecord(KEYS.chain, entry).record.own;
    };
    const before = await own();
    const verified = (): Promise<Answer> =>
      call(`${accountAt(muster, owner.accountId)}/audit/verification`, { token: OPERATOR_TOKEN });
    const { ownBytes, notedBytes } = (await verified()).body;
    expect(ownBytes).toBe(notedBytes);
    expect(Number(ownBytes)).toBeGreaterThan(MIB);

    // A store of an earlier version: its chain tells nothing, and the loop looks at every chain hourly.
    await rewrite(full, key, ({ own: _own, ...chain }) => chain);
    await rewrite(full, KEYS.stored(owner.accountId), (record) => ({ ...record, audit: 0, records: 0 }));
    await untilPassing(clock, async () => (await own()) !== undefined, 60_000);
    expect(await own()).toEqual(before);
    await untilStored(muster, clock, owner, (bytes) => bytes >= MIB);

    await rewrite(full, key, (chain) => ({ ...chain, own: { ...(chain['own'] as object), bytes: 5 } }));
    expect((await verified()).body).toMatchObject({ ownBytes, notedBytes: 5 });
    await untilPassing(clock, async () => (await own()) !== undefined, 60_000);
    expect((await verified()).body).toMatchObject({ ownBytes, notedBytes: ownBytes });
  });

  test('lasts 22 days where an honest account makes a change a second', async () => {
    const clock = new FakeClock();
    await using full = await panelMuster(backend, { clock });
    const { muster, store } = full;
    const owner = await tenant(muster);
    let changes = 0;
    for (let round = 0; round < 20; round += 1) {
      const app = await createApp(muster, owner.apiKey, `build-agent-${round}.eu-central-1.example.com`);
      await issueCode(muster, owner.apiKey, app.appId);
      await setOtel(muster, owner.apiKey, { endpoint: `https://otel-${round}.collectors.example.com:4318/v1` });
      await revoke(muster, owner.apiKey, app.appId);
      await deleteApp(muster, owner.apiKey, app.appId);
      changes += 5;
    }
    const chain = async (): Promise<number> => {
      const entry = await store.get(KEYS.chain(owner.accountId));
      return entry ? (parseRecord(KEYS.chain, entry).record.own?.bytes ?? 0) : 0;
    };
    // All entries are there, the last of them sealed.
    await untilPassing(clock, async () => {
      const { body } = await call(`${accountAt(muster, owner.accountId)}/audit/verification`, {
        token: OPERATOR_TOKEN,
      });
      return body['unsealed'] === 0;
    });
    const days = (1024 * MIB) / ((await chain()) / changes) / 86_400;
    expect(days).toBeGreaterThan(22);
    // The figure of OPERATIONS.md.
    expect(days).toBeLessThan(24);
  });
});
