import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exchange } from '../../support/http/raw-http.ts';
import {
  auditOf,
  changeAccount,
  deleteApp,
  enrollOwn,
  issueCode,
  metric,
  ownCredential,
  revoke,
  sendEnroll,
} from '../../support/service/daemon.ts';
import {
  call,
  createApp,
  enroll,
  poll,
  tenant,
  type CreatedApp,
  type Muster,
  type Tenant,
} from '../../support/service/muster.ts';
import { describeOnce, onEachBackend } from '../../support/store/backends.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const INVALID_REQUEST = { status: 400, body: { error: { code: 'invalid_request' } } };

/** Codes that do not enroll, by the result that the metrics name. */
type Unusable = (fresh: () => Promise<CreatedApp>, muster: Muster, apiKey: string, clock: FakeClock) => Promise<object>;
const UNUSABLE: readonly (readonly [string, string, Unusable])[] = [
  ['an app that was never created', 'unknown_app', async (fresh) => ({ ...(await fresh()), appId: 'a'.repeat(20) })],
  ['an app ID of another shape', 'unknown_app', async (fresh) => ({ ...(await fresh()), appId: '../etc/passwd' })],
  [
    'a deleted app',
    'unknown_app',
    async (fresh, muster, apiKey) => {
      const app = await fresh();
      await deleteApp(muster, apiKey, app.appId);
      return app;
    },
  ],
  [
    'the code of another app',
    'unknown_code',
    async (fresh) => ({ ...(await fresh()), enrollCode: (await fresh()).enrollCode }),
  ],
  [
    'a used code',
    'used_code',
    async (fresh, muster) => {
      const app = await fresh();
      await enroll(muster, app);
      return app;
    },
  ],
  [
    'a code voided by a revocation',
    'voided_code',
    async (fresh, muster, apiKey) => {
      const app = await fresh();
      await revoke(muster, apiKey, app.appId);
      return app;
    },
  ],
  [
    'a code voided by the enrollment with a later one',
    'voided_code',
    async (fresh, muster, apiKey) => {
      const app = await fresh();
      await enroll(muster, await issueCode(muster, apiKey, app.appId));
      return app;
    },
  ],
  [
    'an expired code',
    'expired_code',
    async (fresh, _muster, _apiKey, clock) => {
      const app = await fresh();
      clock.advance(30 * DAY_MS);
      return app;
    },
  ],
  [
    'a code whose checksum is wrong',
    'malformed_code',
    async (fresh) => {
      const app = await fresh();
      return { ...app, enrollCode: app.enrollCode.slice(0, -1) + (app.enrollCode.endsWith('a') ? 'b' : 'a') };
    },
  ],
  ['an empty code', 'malformed_code', async (fresh) => ({ ...(await fresh()), enrollCode: '' })],
  [
    'a hash that is bound',
    'bound_credential',
    async (fresh, muster) => {
      const own = ownCredential();
      await enrollOwn(muster, await fresh(), own.hash);
      return { ...(await fresh()), credentialHash: own.hash };
    },
  ],
];

onEachBackend('a refused enrollment', (backend) => {
  const clock = new FakeClock();
  let muster: Muster;
  let owner: Tenant;
  beforeAll(async () => {
    muster = await backend.fresh({ clock });
    owner = await tenant(muster);
  });
  afterAll(() => muster[Symbol.asyncDispose]());
  const freshApp = () => createApp(muster, owner.apiKey);
  const refusals = async (accountId: string) =>
    (await auditOf(muster, accountId)).filter(({ action }) => action === 'enrollment.refused');

  /** The answer byte for byte, but for its date. */
  async function rawEnroll(body: object): Promise<string> {
    const text = JSON.stringify(body);
    const head = `POST /device/v1/enroll HTTP/1.1\r\nHost: m\r\nX-Request-Id: same\r\nContent-Length: ${Buffer.byteLength(text)}`;
    const { raw } = await exchange(muster.service.device.port, `${head}\r\n\r\n${text}`);
    return raw.replace(/^Date: .*\r\n/m, '');
  }

  test('is one answer, byte for byte, whatever was wrong', async () => {
    const answers = new Map<string, string>();
    for (const [what, , unusable] of UNUSABLE) {
      answers.set(what, await rawEnroll(await unusable(freshApp, muster, owner.apiKey, clock)));
    }
    const [one = ''] = answers.values();
    expect(one).toMatch(/^HTTP\/1\.1 401 /);
    expect(one).toContain('WWW-Authenticate: Bearer');
    expect(one).toContain('"code":"invalid_code"');
    expect(new Set(answers.values()).size).toBe(1);
  });

  test.each(UNUSABLE)(
    'is counted and logged by its true reason, and audited where the code was valid once: %s → %s',
    async (_what, result, unusable) => {
      const { accountId, apiKey } = await tenant(muster);
      const series = `muster_enrollments_total{result="${result}"}`;
      const body = await unusable(() => createApp(muster, apiKey), muster, apiKey, clock);
      const before = await metric(muster, series);
      await sendEnroll(muster, body);
      expect(await metric(muster, series)).toBe(before + 1);
      const logged = muster.logged.findLast((line) => line.includes('"not enrolled"')) ?? '{}';
      expect(JSON.parse(logged)).toMatchObject({ level: 'info', reason: result });
      const once = !['unknown_app', 'unknown_code', 'malformed_code'].includes(result);
      expect((await refusals(accountId)).map(({ detail }) => detail)).toEqual(once ? [{ reason: result }] : []);
    },
  );

  test('enrollments and their repetitions are counted too', async () => {
    const results = ['enrolled', 'replayed'].map((result) => `muster_enrollments_total{result="${result}"}`);
    const counts = () => Promise.all(results.map((series) => metric(muster, series)));
    const [enrolled = 0, replayed = 0] = await counts();
    const [app, own] = [await freshApp(), ownCredential()];
    await enrollOwn(muster, app, own.hash);
    expect(await counts()).toEqual([enrolled + 1, replayed]);
    await enrollOwn(muster, app, own.hash);
    expect(await counts()).toEqual([enrolled + 1, replayed + 1]);
  });

  describe('an app of a disabled account', () => {
    test('is account_disabled for a valid code, which stays good; for any other, invalid_code', async () => {
      const other = await tenant(muster);
      const [app, used] = [await createApp(muster, other.apiKey), await createApp(muster, other.apiKey)];
      await enroll(muster, used);
      await changeAccount(muster, other.accountId, { disabled: true });
      expect(await sendEnroll(muster, app)).toMatchObject({
        status: 401,
        body: { error: { code: 'account_disabled' } },
      });
      expect((await sendEnroll(muster, app)).headers.get('www-authenticate')).toBe('Bearer');
      expect(await sendEnroll(muster, used)).toMatchObject({ status: 401, body: { error: { code: 'invalid_code' } } });
      await changeAccount(muster, other.accountId, { disabled: false });
      expect((await sendEnroll(muster, app)).status).toBe(200);
    });
  });

  describe('is audited', () => {
    test('at most once an hour and app, also where many come at once', async () => {
      const { accountId, apiKey } = await tenant(muster);
      const [one, other] = [await createApp(muster, apiKey), await createApp(muster, apiKey)];
      await enroll(muster, one);
      await enroll(muster, other);
      await Promise.all(Array.from({ length: 20 }, () => sendEnroll(muster, one)));
      expect((await refusals(accountId)).map(({ appId }) => appId)).toEqual([one.appId]);
      clock.advance(1);
      await sendEnroll(muster, other);
      expect((await refusals(accountId)).map(({ appId }) => appId)).toEqual([one.appId, other.appId]);
      clock.advance(HOUR_MS - 2);
      await sendEnroll(muster, one);
      expect(await refusals(accountId)).toHaveLength(2);
      clock.advance(1);
      await sendEnroll(muster, one);
      await sendEnroll(muster, one);
      const [first, , last] = await refusals(accountId);
      expect(await refusals(accountId)).toHaveLength(3);
      expect(last).toMatchObject({ actor: `device:${one.appId}`, action: 'enrollment.refused', appId: one.appId });
      expect(last?.requestId).not.toBe(first?.requestId);
    });
  });

  describeOnce(backend, 'for its fields is 400, and burns no code', () => {
    let app: CreatedApp;
    beforeAll(async () => {
      app = await freshApp();
    });

    test.each<[object, string, string]>([
      [{ appId: undefined }, 'appId', 'no app ID'],
      [{ appId: 7 }, 'appId', 'a number as app ID'],
      [{ enrollCode: undefined }, 'enrollCode', 'no code'],
      [{ enrollCode: null }, 'enrollCode', 'null as code'],
      [{ platform: 'p'.repeat(129) }, 'platform', 'a platform of 129 characters'],
      [{ platform: 'línux' }, 'platform', 'not ASCII'],
      [{ platform: null }, 'platform', 'null is not omitted'],
      [{ agentVersion: 'v'.repeat(129) }, 'agentVersion', 'a version of 129 characters'],
      [{ agentVersion: '1\t2' }, 'agentVersion', 'a tab'],
      [{ agentVersion: '1\n' }, 'agentVersion', 'a line break at the end'],
      [{ agentVersion: 2 }, 'agentVersion', 'a number'],
      [{ connection: 'CLOUD' }, 'connection', 'another case'],
      [{ connection: '' }, 'connection', 'empty is not omitted'],
      [{ credentialHash: 'a'.repeat(63) }, 'credentialHash', '63 digits'],
      [{ credentialHash: 'a'.repeat(65) }, 'credentialHash', '65 digits'],
      [{ credentialHash: `${'a'.repeat(64)}\n` }, 'credentialHash', 'a line break behind them'],
      [{ credentialHash: 'g'.repeat(64) }, 'credentialHash', 'no hex digits'],
      [{ credentialHash: null }, 'credentialHash', 'null is not omitted'],
      [{ platform: null, agentVersion: null, appId: null }, 'appId', 'of several the first of the table'],
    ])('%.80j names %s (%s)', async (wrong, field) => {
      const refused = await sendEnroll(muster, { ...app, ...wrong });
      expect(refused).toMatchObject(INVALID_REQUEST);
      expect((refused.body['error'] as { message: string }).message).toMatch(new RegExp(`^${field}\\b`));
      expect(refused.text).not.toContain(app.enrollCode);
    });

    test.each([
      ['', 'nothing'],
      ['{"appId":"', 'JSON that breaks off'],
      ['[]', 'an array'],
      ['null', 'null'],
      ['"text"', 'a text'],
    ])('%j is no object (%s)', async (body) => {
      expect(await sendEnroll(muster, body)).toMatchObject(INVALID_REQUEST);
    });

    test('a body above 64 KiB is 413', async () => {
      const padding = 65_536 - JSON.stringify({ ...app, padding: '' }).length;
      const tooLarge = await sendEnroll(muster, { ...app, padding: 'x'.repeat(padding + 1) });
      expect(tooLarge).toMatchObject({ status: 413, body: { error: { code: 'payload_too_large' } } });
    });

    test.each<[string, (bytes: Buffer) => Buffer]>([
      ['gzip', gzipSync],
      ['deflate', deflateSync],
      ['br', brotliCompressSync],
      ['identity, gzip', gzipSync],
    ])('H7: a body in %s, since nothing is inflated for a stranger', async (encoding, pack) => {
      const body = pack(Buffer.from(JSON.stringify(app)));
      const refused = await call(`${muster.device}/device/v1/enroll`, {
        method: 'POST',
        body,
        headers: { 'content-encoding': encoding },
      });
      expect(refused).toMatchObject(INVALID_REQUEST);
      expect(refused.text).toContain('The Content-Encoding is not supported.');
    });

    test('the code is good after all that, with the longest fields and the largest body', async () => {
      const body = { ...app, platform: '~'.repeat(128), agentVersion: ' '.repeat(128), unknown: { field: true } };
      const padding = 'x'.repeat(65_536 - JSON.stringify({ ...body, padding: '' }).length);
      const enrolled = await call(`${muster.device}/device/v1/enroll`, {
        method: 'POST',
        body: { ...body, padding },
        headers: { 'content-encoding': 'identity' },
      });
      expect(enrolled.status).toBe(200);
    });
  });

  test('a hash is that of a token: what has not the shape of one may be bound, and never polls', async () => {
    const junk = 'mst_dev_short';
    const hash = Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.from(junk))).toString('hex');
    expect((await enrollOwn(muster, await freshApp(), hash)).status).toBe(200);
    expect(await poll(muster, junk)).toMatchObject({ status: 401, body: { error: { code: 'invalid_credential' } } });
  });
});
