import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import {
  changeAccount,
  deleteApp,
  enrollOwn,
  issueCode,
  ownCredential,
  readApp,
  requestsInFlight,
  revoke,
  sendEnroll,
} from '../../support/service/daemon.ts';
import { call, createApp, enroll, Muster, poll, tenant, type Tenant } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { faultyStore, type FaultyStore } from '../../support/store/faulty-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

const SECOND_MS = 1000;

onEachBackend('A13: lastSeenAt', (backend) => {
  const clock = new FakeClock();
  let muster: Muster;
  let owner: Tenant;
  beforeAll(async () => {
    muster = await backend.fresh({ clock });
    owner = await tenant(muster);
  });
  afterAll(() => muster[Symbol.asyncDispose]());

  const now = (): string => new Date(clock.now()).toISOString();
  const seenAt = async (appId: string): Promise<unknown> => (await readApp(muster, owner.apiKey, appId))['lastSeenAt'];
  const becomes = (appId: string, at: string) => expect.poll(() => seenAt(appId), { interval: 10 }).toBe(at);

  /** Polls, lets the next round come, and waits until it is in. Says when that was. */
  async function seen(appId: string, credential: string): Promise<string> {
    clock.advance(SECOND_MS);
    const at = now();
    await poll(muster, credential);
    clock.advance(10 * SECOND_MS);
    await becomes(appId, at);
    return at;
  }

  async function daemon() {
    const app = await createApp(muster, owner.apiKey);
    return { ...app, credential: await enroll(muster, app) };
  }

  test('is null until enrollment, then its instant, at once', async () => {
    const app = await createApp(muster, owner.apiKey);
    expect(await seenAt(app.appId)).toBeNull();
    await enroll(muster, app);
    expect(await seenAt(app.appId)).toBe(now());
  });

  test('is moved by a poll within ten seconds, answered with 200 or 304', async () => {
    const { appId, credential } = await daemon();
    await seen(appId, credential);
    const etag = (await poll(muster, credential)).headers.get('etag') ?? '';
    clock.advance(SECOND_MS);
    const at = now();
    expect((await poll(muster, credential, { 'if-none-match': etag })).status).toBe(304);
    clock.advance(10 * SECOND_MS);
    await becomes(appId, at);
  });

  test('is shown by the list as by the single app', async () => {
    const { appId, credential } = await daemon();
    const at = await seen(appId, credential);
    const { body } = await call(`${muster.api}/v1/apps`, { token: owner.apiKey });
    const listed = (body['apps'] as { appId: string; lastSeenAt: string }[]).find((app) => app.appId === appId);
    expect(listed?.lastSeenAt).toBe(at);
  });

  test('is moved by another enrollment, not by the repetition of one', async () => {
    const [app, own] = [await createApp(muster, owner.apiKey), ownCredential()];
    await enrollOwn(muster, app, own.hash);
    const first = now();
    clock.advance(SECOND_MS);
    await enrollOwn(muster, app, own.hash);
    expect(await seenAt(app.appId)).toBe(first);
    await enroll(muster, await issueCode(muster, owner.apiKey, app.appId));
    expect(await seenAt(app.appId)).toBe(now());
  });

  test('never goes back, though the clock does', async () => {
    const { appId, credential } = await daemon();
    const at = await seen(appId, credential);
    clock.jump(-3_600_000);
    await poll(muster, credential);
    const other = await daemon();
    clock.advance(10 * SECOND_MS);
    // The other one's contact is in the same round, so that the round is known to be over.
    await poll(muster, other.credential);
    const otherAt = now();
    clock.advance(10 * SECOND_MS);
    await becomes(other.appId, otherAt);
    expect(await seenAt(appId)).toBe(at);
    const next = await enroll(muster, await issueCode(muster, owner.apiKey, appId));
    expect(await seenAt(appId)).toBe(at);
    clock.jump(3_600_000);
    await seen(appId, next);
  });

  test('is kept after a revocation, and begins anew with no other app', async () => {
    const { appId, credential } = await daemon();
    const at = await seen(appId, credential);
    await revoke(muster, owner.apiKey, appId);
    expect(await seenAt(appId)).toBe(at);
    const gone = await daemon();
    await seen(gone.appId, gone.credential);
    await deleteApp(muster, owner.apiKey, gone.appId);
    expect(await seenAt((await createApp(muster, owner.apiKey)).appId)).toBeNull();
  });

  describe('is not moved by a refused request', () => {
    const refusals: [string, (app: { appId: string; enrollCode: string; credential: string }) => Promise<number>][] = [
      [
        'a poll after the revocation',
        async ({ appId, credential }) => {
          await revoke(muster, owner.apiKey, appId);
          return (await poll(muster, credential)).status;
        },
      ],
      [
        'a poll while the account is disabled',
        async ({ credential }) => {
          await changeAccount(muster, owner.accountId, { disabled: true });
          const { status } = await poll(muster, credential);
          await changeAccount(muster, owner.accountId, { disabled: false });
          return status;
        },
      ],
      [
        'a poll above the rate',
        async ({ credential }) => {
          const ack = () => call(`${muster.device}/device/v1/config/ack`, { method: 'POST', token: credential });
          while ((await ack()).status !== 429);
          return (await poll(muster, credential)).status;
        },
      ],
      ['an enrollment with a used code', async (app) => (await sendEnroll(muster, app)).status],
    ];

    test.each(refusals)('%s', async (_what, refused) => {
      const app = await daemon();
      const witness = await daemon();
      const at = await seen(app.appId, app.credential);
      clock.advance(SECOND_MS);
      expect([401, 429]).toContain(await refused(app));
      await seen(witness.appId, witness.credential);
      expect(await seenAt(app.appId)).toBe(at);
    });
  });
});

describe('contacts that are in memory when the process ends', () => {
  const dataDir = scratchDirectory('muster');
  afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

  test('is written: a contact of the last seconds is there after the restart', async () => {
    const clock = new FakeClock();
    const first = await Muster.start({ dataDir, clock });
    const { apiKey } = await tenant(first);
    const app = await createApp(first, apiKey);
    const credential = await enroll(first, app);
    clock.advance(SECOND_MS);
    const at = new Date(clock.now()).toISOString();
    await poll(first, credential);
    await first[Symbol.asyncDispose]();
    await using second = await Muster.start({ dataDir, clock });
    expect(await readApp(second, apiKey, app.appId)).toMatchObject({ lastSeenAt: at });
    expect((await poll(second, credential)).status).toBe(200);
  });

  test('is written: that of a poll that was under way, too', async () => {
    let store: FaultyStore | undefined;
    const first = await Muster.start({ dataDir, wrapStore: (real) => (store = faultyStore(real)) });
    const { apiKey } = await tenant(first);
    const app = await createApp(first, apiKey);
    const credential = await enroll(first, app);
    const { lastSeenAt: enrolledAt } = await readApp(first, apiKey, app.appId);
    const release = store?.stall('head');
    const polled = poll(first, credential);
    await until(async () => (await requestsInFlight(first)).device === 1);
    const stopped = first.service.stop();
    release?.();
    expect((await polled).status).toBe(200);
    await stopped;
    await using second = await Muster.start({ dataDir });
    const { lastSeenAt } = await readApp(second, apiKey, app.appId);
    expect(Date.parse(String(lastSeenAt))).toBeGreaterThan(Date.parse(String(enrolledAt)));
  });
});
