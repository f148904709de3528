import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { forgedKey } from '../../support/records/forged-keys.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { auditOf, issueCode, metric, ownCredential, sendEnroll } from '../../support/service/daemon.ts';
import { call, createApp, enroll, OPERATOR_TOKEN, tenant, type Muster } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { faultyStore, type FaultyStore } from '../../support/store/faulty-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { untilPassing } from '../../support/time/until-passing.ts';

/* Who tried to get in, and who took data away. */

const failures = (muster: Muster, credential: string, reason: string): Promise<number> =>
  metric(muster, `muster_authentication_failures_total{credential="${credential}",reason="${reason}"}`);
/** What is published later than the first of it follows in another entry, in an hour. */
const countIn = (entries: readonly { readonly detail: Readonly<Record<string, unknown>> }[]): number =>
  entries.reduce((sum, { detail }) => sum + Number(detail['count']), 0);
const operatorAudit = async ({ ops }: Muster, token = OPERATOR_TOKEN) =>
  (await call(`${ops}/operator/v1/audit`, { token })).body['entries'] as {
    readonly actor: string;
    readonly action: string;
    readonly detail: Readonly<Record<string, unknown>>;
  }[];

onEachBackend('whoever tries secrets', (backend) => {
  test('for a key that exists is in the account’s audit and the log, once an hour, over all replicas', async () => {
    const [clock, place] = [new FakeClock(), backend.place()];
    await using one = await backend.fresh({ ...place, clock });
    const other = backend.name === 'etcd' ? await backend.fresh({ ...place, clock }) : undefined;
    await using _ = other;
    const replicas = other ? [one, other] : [one];
    const owner = await tenant(one);
    const wrong = forgedKey(owner.apiKey);
    for (const replica of replicas) {
      for (let n = 0; n < 3; n += 1) {
        const refused = await call(`${replica.api}/v1/apps`, { token: wrong });
        expect(refused).toMatchObject({ status: 401, body: { error: { code: 'invalid_key' } } });
      }
      expect(await failures(replica, 'api_key', 'wrong_secret')).toBe(3);
    }
    const told = async () => (await auditOf(one, owner.accountId)).filter(({ action }) => action === 'key.refused');
    await untilPassing(clock, async () => countIn(await told()) === 3 * replicas.length, 10_000);
    expect((await told())[0]).toMatchObject({ actor: 'muster', detail: { keyIds: owner.keyId } });
    expect(String((await told())[0]?.detail['clients'])).toContain('127.0.0.1');
    const line = one.logged.find((line) => line.includes('wrong_secret'));
    expect(JSON.parse(line ?? '{}')).toMatchObject({
      msg: 'not authenticated',
      credential: 'api_key',
      why: 'wrong_secret',
      accountId: owner.accountId,
      keyId: owner.keyId,
      client: expect.stringContaining('127.0.0.1') as string,
    });
    for (const replica of replicas) expect(replica.logged.join()).not.toContain(wrong.slice(20));
  });

  test('is refused at once while the store takes no commit, and looks like any other stranger', async () => {
    let faulty: FaultyStore | undefined;
    await using muster = await backend.fresh({ wrapStore: (store) => (faulty = faultyStore(store)) });
    const owner = await tenant(muster);
    const wrong = forgedKey(owner.apiKey);
    faulty?.down.add('commit');
    const answers = [await call(`${muster.api}/v1/apps`, { token: wrong }), await call(`${muster.api}/v1/apps`)];
    expect(answers.map(({ status, text }) => [status, text])).toEqual([
      [401, answers[1]?.text],
      [401, answers[1]?.text],
    ]);
    faulty?.down.delete('commit');
  });

  test('of any kind is counted by kind and reason', async () => {
    await using muster = await backend.fresh();
    const owner = await tenant(muster);
    const app = await createApp(muster, owner.apiKey);
    await enroll(muster, app);
    const counts = async (): Promise<Record<string, number>> =>
      Object.fromEntries(
        [
          ...(await call(`${muster.ops}/metrics`)).text.matchAll(
            /^muster_authentication_failures_total\{(.*)\} ([1-9]\d*)$/gm,
          ),
        ].map(([, labels = '', count]) => [labels.replaceAll(/credential=|reason=|"/g, ''), Number(count)]),
      );
    expect(await counts()).toEqual({});
    await call(`${muster.api}/v1/apps`, { token: 'junk' });
    await call(`${muster.api}/v1/apps`);
    await call(`${muster.device}/device/v1/config`, { token: ownCredential().token });
    await call(`${muster.device}/device/v1/config`, { token: 'junk' });
    await call(`${muster.ops}/operator/v1/accounts`, { token: 'junk' });
    await call(`${muster.ops}/operator/v1/accounts`);
    await sendEnroll(muster, { ...app });
    await sendEnroll(muster, {
      appId: app.appId,
      enrollCode: (await issueCode(muster, owner.apiKey, (await createApp(muster, owner.apiKey)).appId)).enrollCode,
    });
    expect(await counts()).toEqual({
      'api_key,malformed': 2,
      'device_credential,unknown': 1,
      'device_credential,malformed': 1,
      'operator_token,wrong_secret': 1,
      'operator_token,malformed': 1,
      'enroll_code,once_valid': 1,
      'enroll_code,unknown': 1,
    });
  });

  test('for the operator’s token is in the audit of the service, and junk is in none', async () => {
    const clock = new FakeClock();
    await using muster = await backend.fresh({ clock });
    for (const url of [`${muster.api}/v1/apps`, `${muster.device}/device/v1/config`]) {
      for (const token of ['junk', ownCredential().token]) await call(url, { token });
    }
    await call(`${muster.ops}/operator/v1/accounts`);
    for (let n = 0; n < 4; n += 1) await call(`${muster.ops}/operator/v1/accounts`, { token: `wrong-${n}` });
    const told = async () => (await operatorAudit(muster)).filter(({ action }) => action === 'token.refused');
    await untilPassing(clock, async () => countIn(await told()) >= 4, 10_000);
    expect(countIn(await told())).toBe(4);
    expect((await told())[0]).toMatchObject({ actor: 'muster' });
  });
});

onEachBackend('whoever takes data away', (backend) => {
  test('is in the audit of the service by the name of his token, once an export', async () => {
    const file = join(scratchDirectory('tokens'), 'tokens');
    const [alice, bare] = [`alice-${'a'.repeat(40)}`, 'b'.repeat(40)];
    writeFileSync(file, `alice:${alice}\n${bare}\n`, { mode: 0o600 });
    await using muster = await backend.fresh({
      env: { MUSTER_OPERATOR_TOKEN_FILE: file, MUSTER_OPERATOR_TOKEN: OPERATOR_TOKEN },
    });
    const owner = await tenant(muster);
    const get = async (path: string, token: string): Promise<number> => {
      const response = await fetch(`${muster.ops}/operator/v1${path}`, {
        headers: { authorization: `Bearer ${token}` },
      });
      await response.text();
      return response.status;
    };
    expect(await get('/usage?month=2026-01', alice)).toBe(200);
    expect(await get(`/accounts/${owner.accountId}/audit`, bare)).toBe(200);
    expect(await get('/backup', alice)).toBe(200);
    // Neither the name nor the whole line opens anything.
    expect([await get('/usage?month=2026-01', 'alice'), await get('/usage?month=2026-01', `alice:${alice}`)]).toEqual([
      401, 401,
    ]);
    // A refused question exports nothing.
    expect(await get('/usage?month=2026-13', alice)).toBe(400);
    expect(await operatorAudit(muster)).toMatchObject([
      { actor: 'operator:alice', action: 'usage.exported', detail: { month: '2026-01' } },
      { actor: 'operator', action: 'audit.exported', detail: { accountId: owner.accountId } },
      { actor: 'operator:alice', action: 'backup.begun' },
    ]);
    for (const [what, count] of [
      ['usage', 1],
      ['audit', 2],
      ['backup', 1],
    ] as const) {
      expect(await metric(muster, `muster_exports_total{export="${what}"}`)).toBe(count);
    }
    expect(muster.logged.join()).not.toMatch(new RegExp(`${alice}|${bare}`));
    const created = await call(`${muster.ops}/operator/v1/accounts`, {
      method: 'POST',
      token: alice,
      body: { name: 'hers', entitlement: 'standard' },
    });
    expect(await auditOf(muster, String(created.body['accountId']))).toMatchObject([{ actor: 'operator:alice' }]);
  });
});
