import { afterAll, beforeAll, expect, test } from 'vitest';
import { auditOf, enrollOwn, ownCredential, sendEnroll } from '../../support/service/daemon.ts';
import { createApp, poll, tenant, type Muster, type Tenant } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';

const INVALID_CODE = { status: 401, body: { error: { code: 'invalid_code' } } };

onEachBackend('fifty enrollments at once with one code', (backend) => {
  let muster: Muster;
  let owner: Tenant;
  beforeAll(async () => {
    muster = await backend.fresh();
    owner = await tenant(muster);
  });
  afterAll(() => muster[Symbol.asyncDispose]());
  const enrollments = async (): Promise<number> =>
    (await auditOf(muster, owner.accountId)).filter(({ action }) => action === 'app.enrolled').length;

  test('each with a hash of its own: one wins, and its credential alone works', async () => {
    const before = await enrollments();
    const app = await createApp(muster, owner.apiKey);
    const own = Array.from({ length: 50 }, ownCredential);
    const answers = await Promise.all(own.map(({ hash }) => enrollOwn(muster, app, hash)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const answer of answers) if (answer.status !== 200) expect(answer).toMatchObject(INVALID_CODE);
    const polls = await Promise.all(own.map(({ token }) => poll(muster, token)));
    expect(polls.map(({ status }) => status)).toEqual(answers.map(({ status }) => status));
    expect(await enrollments()).toBe(before + 1);
  });

  test('all with the same hash: all are told yes, and it happened once', async () => {
    const before = await enrollments();
    const [app, own] = [await createApp(muster, owner.apiKey), ownCredential()];
    const answers = await Promise.all(Array.from({ length: 50 }, () => enrollOwn(muster, app, own.hash)));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(200);
    expect(await enrollments()).toBe(before + 1);
  });

  test('all without a hash: one credential is given, and it works', async () => {
    const app = await createApp(muster, owner.apiKey);
    const answers = await Promise.all(Array.from({ length: 50 }, () => sendEnroll(muster, app)));
    const won = answers.filter(({ status }) => status === 200);
    expect(won).toHaveLength(1);
    expect((await poll(muster, String(won[0]?.body['credential']))).status).toBe(200);
  });

  test('one hash with the codes of fifty apps: it is bound once', async () => {
    const apps = await Promise.all(Array.from({ length: 50 }, () => createApp(muster, owner.apiKey)));
    const own = ownCredential();
    const answers = await Promise.all(apps.map((app) => enrollOwn(muster, app, own.hash)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect((await poll(muster, own.token)).status).toBe(200);
  });
});
