import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  auditOf,
  changeAccount,
  deleteApp,
  enrollOwn,
  issueCode,
  ownCredential,
  pollInCompany,
  readApp,
  revoke,
  sendEnroll,
  setOtel,
} from '../../support/service/daemon.ts';
import { createApp, enroll, poll, tenant, type Muster, type Tenant } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const INVALID_CODE = { status: 401, body: { error: { code: 'invalid_code' } } };
const INVALID_CREDENTIAL = { status: 401, body: { error: { code: 'invalid_credential' } } };

onEachBackend('enrollment', (backend) => {
  const clock = new FakeClock();
  let muster: Muster;
  let owner: Tenant;
  beforeAll(async () => {
    muster = await backend.fresh({ clock });
    owner = await tenant(muster);
  });
  afterAll(() => muster[Symbol.asyncDispose]());

  const freshApp = () => createApp(muster, owner.apiKey);
  const statusOf = async (appId: string): Promise<unknown> => (await readApp(muster, owner.apiKey, appId))['status'];

  describe('the two ways to a credential', () => {
    test('the service makes it, and tells it once', async () => {
      const app = await freshApp();
      const enrolled = await sendEnroll(muster, app);
      expect(enrolled).toMatchObject({ status: 200, body: { appId: app.appId, status: 'active' } });
      expect(Object.keys(enrolled.body)).toEqual(['appId', 'status', 'pollIntervalSeconds', 'credential']);
      expect(enrolled.body['credential']).toMatch(/^mst_dev_[0-9A-Za-z]{49}$/);
      expect(await poll(muster, String(enrolled.body['credential']))).toMatchObject({ status: 200 });
      expect(await sendEnroll(muster, app)).toMatchObject(INVALID_CODE);
    });

    test('the daemon made it, and the service never sends one', async () => {
      const [app, own] = [await freshApp(), ownCredential()];
      const enrolled = await enrollOwn(muster, app, own.hash);
      expect(Object.keys(enrolled.body)).toEqual(['appId', 'status', 'pollIntervalSeconds']);
      expect(await poll(muster, own.token)).toMatchObject({ status: 200 });
    });

    test('hex digits in capitals name the same credential', async () => {
      const [app, own] = [await freshApp(), ownCredential()];
      expect((await enrollOwn(muster, app, own.hash.toUpperCase())).status).toBe(200);
      expect((await poll(muster, own.token)).status).toBe(200);
      expect((await enrollOwn(muster, app, own.hash)).status).toBe(200);
    });

    test('the platform and version that the daemon reports are shown, and empty where it reports none (A2)', async () => {
      const [app, silent] = [await freshApp(), await freshApp()];
      expect(await readApp(muster, owner.apiKey, app.appId)).toMatchObject({
        status: 'pending',
        platform: '',
        agentVersion: '',
      });
      await sendEnroll(muster, { ...app, platform: 'linux/arm64', agentVersion: '2.1.0-rc.1+7' });
      await sendEnroll(muster, silent);
      expect(await readApp(muster, owner.apiKey, app.appId)).toMatchObject({
        status: 'active',
        platform: 'linux/arm64',
        agentVersion: '2.1.0-rc.1+7',
        lastSeenAt: new Date(clock.now()).toISOString(),
      });
      expect(await readApp(muster, owner.apiKey, silent.appId)).toMatchObject({ platform: '', agentVersion: '' });
    });

    test.each<[object, boolean, string]>([
      [{ connection: 'cloud' }, true, 'cloud receives the configuration'],
      [{ connection: 'private' }, false, 'private does not'],
      [{}, false, 'a device that says nothing is private'],
    ])('%j → %s (O11: %s)', async (connection, receives) => {
      const { apiKey } = await tenant(muster);
      await setOtel(muster, apiKey);
      const app = await createApp(muster, apiKey);
      const enrolled = await sendEnroll(muster, { ...app, ...connection });
      const told = await poll(muster, String(enrolled.body['credential']));
      expect(told.body['otel']).toMatchObject({ enabled: receives });
    });
  });

  describe('the same code with the same hash again: a lost answer burns nothing', () => {
    test('for 15 minutes it answers the same and changes nothing', async () => {
      const [app, own] = [await freshApp(), ownCredential()];
      const first = await enrollOwn(muster, app, own.hash);
      const before = await readApp(muster, owner.apiKey, app.appId);
      const audited = await auditOf(muster, owner.accountId);
      clock.advance(15 * MINUTE_MS - 1);
      const body = { ...app, credentialHash: own.hash, platform: 'another', agentVersion: '9', connection: 'cloud' };
      expect(await sendEnroll(muster, body)).toMatchObject({ status: 200, text: first.text });
      expect(await readApp(muster, owner.apiKey, app.appId)).toEqual(before);
      expect(await auditOf(muster, owner.accountId)).toEqual(audited);
      clock.advance(1);
      expect(await enrollOwn(muster, app, own.hash)).toMatchObject(INVALID_CODE);
      expect((await poll(muster, own.token)).status).toBe(200);
    });

    test('not when another credential has taken its place', async () => {
      const [app, own, next] = [await freshApp(), ownCredential(), ownCredential()];
      await enrollOwn(muster, app, own.hash);
      const newer = await issueCode(muster, owner.apiKey, app.appId);
      expect((await enrollOwn(muster, app, own.hash)).status).toBe(200);
      expect((await enrollOwn(muster, newer, next.hash)).status).toBe(200);
      expect(await enrollOwn(muster, app, own.hash)).toMatchObject(INVALID_CODE);
      expect((await enrollOwn(muster, newer, next.hash)).status).toBe(200);
    });

    test('not after a revocation, and not after the return from it', async () => {
      const [app, own] = [await freshApp(), ownCredential()];
      await enrollOwn(muster, app, own.hash);
      await revoke(muster, owner.apiKey, app.appId);
      expect(await enrollOwn(muster, app, own.hash)).toMatchObject(INVALID_CODE);
      const back = await issueCode(muster, owner.apiKey, app.appId);
      await enrollOwn(muster, back, ownCredential().hash);
      expect(await enrollOwn(muster, app, own.hash)).toMatchObject(INVALID_CODE);
      expect(await poll(muster, own.token)).toMatchObject(INVALID_CREDENTIAL);
    });

    test('not while the account is disabled, and again once it is not', async () => {
      const other = await tenant(muster);
      const [app, own] = [await createApp(muster, other.apiKey), ownCredential()];
      await enrollOwn(muster, app, own.hash);
      await changeAccount(muster, other.accountId, { disabled: true });
      expect(await enrollOwn(muster, app, own.hash)).toMatchObject({
        status: 401,
        body: { error: { code: 'account_disabled' } },
      });
      await changeAccount(muster, other.accountId, { disabled: false });
      expect((await enrollOwn(muster, app, own.hash)).status).toBe(200);
    });
  });

  describe('a hash that is or was bound to an existing app is refused, and the code stays good', () => {
    /** An app with a credential in some state of its life. */
    const lives: [string, (hash: string) => Promise<string>][] = [
      [
        'current',
        async (hash) => {
          const app = await freshApp();
          await enrollOwn(muster, app, hash);
          return app.appId;
        },
      ],
      [
        'swapped',
        async (hash) => {
          const app = await freshApp();
          await enrollOwn(muster, app, hash);
          await enroll(muster, await issueCode(muster, owner.apiKey, app.appId));
          return app.appId;
        },
      ],
      [
        'revoked',
        async (hash) => {
          const app = await freshApp();
          await enrollOwn(muster, app, hash);
          await revoke(muster, owner.apiKey, app.appId);
          return app.appId;
        },
      ],
    ];

    test.each(lives)('%s: by its own app, by another one, by another account’s', async (_life, live) => {
      const own = ownCredential();
      const appId = await live(own.hash);
      const stranger = await tenant(muster);
      const codes = [
        await issueCode(muster, owner.apiKey, appId),
        await freshApp(),
        await createApp(muster, stranger.apiKey),
      ];
      for (const code of codes) {
        expect(await enrollOwn(muster, code, own.hash)).toMatchObject(INVALID_CODE);
        expect((await enrollOwn(muster, code, ownCredential().hash)).status).toBe(200);
      }
    });

    test.each(lives)(
      '%s: free again once its app is deleted, as a credential of the new app alone',
      async (_life, live) => {
        const own = ownCredential();
        await deleteApp(muster, owner.apiKey, await live(own.hash));
        expect(await poll(muster, own.token)).toMatchObject(INVALID_CREDENTIAL);
        expect((await enrollOwn(muster, await freshApp(), own.hash)).status).toBe(200);
        expect((await poll(muster, own.token)).status).toBe(200);
      },
    );
  });

  test('A4: a code of an active app swaps the credential; the old one dies at that instant', async () => {
    const app = await freshApp();
    const old = await enroll(muster, app);
    const newer = await issueCode(muster, owner.apiKey, app.appId);
    expect((await poll(muster, old)).status).toBe(200);
    const next = await enroll(muster, newer);
    expect(await poll(muster, old)).toMatchObject(INVALID_CREDENTIAL);
    expect((await poll(muster, next)).status).toBe(200);
    expect(await statusOf(app.appId)).toBe('active');
  });

  describe('A5: several open codes', () => {
    test('the one used voids those issued before it, not those after', async () => {
      const oldest = await freshApp();
      const [old, used, newer] = [
        await issueCode(muster, owner.apiKey, oldest.appId),
        await issueCode(muster, owner.apiKey, oldest.appId),
        await issueCode(muster, owner.apiKey, oldest.appId),
      ];
      await enroll(muster, used);
      for (const code of [oldest, old, used]) expect(await sendEnroll(muster, code)).toMatchObject(INVALID_CODE);
      expect((await sendEnroll(muster, newer)).status).toBe(200);
    });

    test('twenty are open; the twenty-first voids the oldest and no other', async () => {
      const oldest = await freshApp();
      const codes = [];
      for (let i = 0; i < 20; i += 1) codes.push(await issueCode(muster, owner.apiKey, oldest.appId));
      expect(await sendEnroll(muster, oldest)).toMatchObject(INVALID_CODE);
      for (const code of codes) expect((await sendEnroll(muster, code)).status).toBe(200);
    });
  });

  describe('revoked', () => {
    test.each(['pending', 'active'])('A7: from %s, no code that was open before enrolls', async (from) => {
      const app = await freshApp();
      if (from === 'active') await enroll(muster, app);
      const open = [await issueCode(muster, owner.apiKey, app.appId), await issueCode(muster, owner.apiKey, app.appId)];
      await revoke(muster, owner.apiKey, app.appId);
      for (const code of [app, ...open]) expect(await sendEnroll(muster, code)).toMatchObject(INVALID_CODE);
      expect(await statusOf(app.appId)).toBe('revoked');
    });

    test('A8: a code issued afterwards leaves it revoked until it is used', async () => {
      const app = await freshApp();
      const old = await enroll(muster, app);
      await revoke(muster, owner.apiKey, app.appId);
      const back = await issueCode(muster, owner.apiKey, app.appId);
      expect(await statusOf(app.appId)).toBe('revoked');
      expect(await poll(muster, old)).toMatchObject(INVALID_CREDENTIAL);
      const next = await enroll(muster, back);
      expect(await statusOf(app.appId)).toBe('active');
      expect((await poll(muster, next)).status).toBe(200);
      expect(await pollInCompany(muster, old)).toMatchObject(INVALID_CREDENTIAL);
    });
  });

  test('A11: a code is good to the last millisecond of its 30 days, by the service’s clock', async () => {
    const [inTime, late] = [await freshApp(), await freshApp()];
    clock.advance(30 * DAY_MS - 1);
    expect((await sendEnroll(muster, inTime)).status).toBe(200);
    clock.advance(1);
    expect(await sendEnroll(muster, late)).toMatchObject(INVALID_CODE);
    expect((await sendEnroll(muster, await issueCode(muster, owner.apiKey, late.appId))).status).toBe(200);
  });
});
