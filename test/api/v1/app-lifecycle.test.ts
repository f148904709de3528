import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { ROUTES } from '../../../src/api/v1/gateway.ts';
import { exampleBody } from '../../support/openapi/documents.ts';
import { pollInCompany } from '../../support/service/daemon.ts';
import { call, createApp, enroll, tenant, type CreatedApp, type Muster } from '../../support/service/muster.ts';
import { asCaller, asOperator, DAY_MS, expectRefusal, times, type Ask } from '../../support/service/v1.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

onEachBackend('the life of an app', (backend) => {
  const clock = new FakeClock();
  let muster: Muster;
  let accountId: string;
  let apiKey: string;
  let ask: Ask;
  beforeAll(async () => {
    muster = await backend.fresh({ clock });
  });
  beforeEach(async () => {
    ({ accountId, apiKey } = await tenant(muster));
    ask = asCaller(muster, apiKey);
  });
  afterAll(async () => {
    await muster[Symbol.asyncDispose]();
  });

  const view = async ({ appId }: CreatedApp): Promise<unknown> => (await ask(`GET /v1/apps/${appId}`)).body;
  const revoke = async ({ appId }: CreatedApp) => await ask(`POST /v1/apps/${appId}/revoke`);

  /** A further code of the app, as what it takes to enroll. */
  async function anotherCode({ appId }: CreatedApp): Promise<CreatedApp> {
    const issued = await ask(`POST /v1/apps/${appId}/enroll-code`);
    expect(issued.status).toBe(201);
    return { appId, enrollCode: String(issued.body['enrollCode']) };
  }

  /** The response to a daemon with this code: its status, or the code of the refusal. */
  async function enrolls(app: CreatedApp): Promise<boolean> {
    const body = { ...app, connection: 'cloud' };
    const { status, text } = await call(`${muster.device}/device/v1/enroll`, { method: 'POST', body });
    if (status !== 200)
      expect({ status, text }).toMatchObject({
        status: 401,
        text: expect.stringContaining('"invalid_code"') as string,
      });
    return status === 200;
  }
  const works = async (credential: string): Promise<boolean> =>
    (await pollInCompany(muster, credential)).status === 200;

  test('pending, active, revoked, and what the daemon has reported stays', async () => {
    const app = await createApp(muster, apiKey, 'life');
    expect(await view(app)).toMatchObject({ status: 'pending', platform: '', agentVersion: '', lastSeenAt: null });
    clock.advance(1000);
    await enroll(muster, app);
    const seen = new Date(clock.now()).toISOString();
    const reported = { platform: 'linux', agentVersion: '1.0.0', lastSeenAt: seen };
    expect(await view(app)).toMatchObject({ status: 'active', ...reported });
    clock.advance(1000);
    expect(await revoke(app)).toMatchObject({ status: 200, text: `{"appId":"${app.appId}","status":"revoked"}` });
    expect(await view(app)).toMatchObject({ name: 'life', status: 'revoked', ...reported });
  });

  test('4.4: a further code has its own field names, and 30 days', async () => {
    const app = await createApp(muster, apiKey);
    const issued = await ask(`POST /v1/apps/${app.appId}/enroll-code`);
    expect(issued.status).toBe(201);
    expect(issued.body).toEqual({
      enrollCode: expect.stringMatching(/^mst_code_[0-9A-Za-z]{49}$/) as string,
      expiresAt: new Date(clock.now() + 30 * DAY_MS).toISOString(),
    });
    expect(issued.body['enrollCode']).not.toBe(app.enrollCode);
  });

  test('a code works once', async () => {
    const app = await createApp(muster, apiKey);
    expect([await enrolls(app), await enrolls(app)]).toEqual([true, false]);
  });

  test('a code belongs to its app', async () => {
    const [one, other] = [await createApp(muster, apiKey), await createApp(muster, apiKey)];
    expect(await enrolls({ appId: other.appId, enrollCode: one.enrollCode })).toBe(false);
    expect(await enrolls(one)).toBe(true);
  });

  test('A11: a code works in the last millisecond of its 30 days, and not in the next', async () => {
    const [early, late] = [await createApp(muster, apiKey), await createApp(muster, apiKey)];
    clock.advance(30 * DAY_MS - 1);
    expect(await enrolls(early)).toBe(true);
    clock.advance(1);
    expect(await enrolls(late)).toBe(false);
    expect(await enrolls(await anotherCode(late))).toBe(true);
  });

  test('A4: a code for an active app leaves the daemon alone until it is used; then the old credential is dead', async () => {
    const app = await createApp(muster, apiKey);
    const old = await enroll(muster, app);
    const further = await anotherCode(app);
    expect(await view(app)).toMatchObject({ status: 'active' });
    expect(await works(old)).toBe(true);
    const swapped = await enroll(muster, further);
    expect([await works(old), await works(swapped)]).toEqual([false, true]);
    expect(await view(app)).toMatchObject({ status: 'active' });
  });

  test('A5: 20 codes are open side by side, and the 21st voids the oldest', async () => {
    const [twenty, more] = [await createApp(muster, apiKey), await createApp(muster, apiKey)];
    await times(19, 1, () => anotherCode(twenty));
    const further = await times(20, 1, () => anotherCode(more));
    expect(await enrolls(twenty), 'the first of 20').toBe(true);
    expect(await enrolls(more), 'the first of 21').toBe(false);
    expect(await enrolls(further[0] ?? more), 'the second of 21').toBe(true);
  });

  test('A5: an expired code makes room before an open one is voided', async () => {
    const app = await createApp(muster, apiKey);
    clock.advance(DAY_MS);
    const second = await anotherCode(app);
    await times(18, 1, () => anotherCode(app));
    clock.advance(29 * DAY_MS);
    await anotherCode(app);
    expect(await enrolls(second)).toBe(true);
  });

  test('A5: an enrollment voids the codes issued before the used one, and none issued after it', async () => {
    const first = await createApp(muster, apiKey);
    const [second, third] = [await anotherCode(first), await anotherCode(first)];
    expect(await enrolls(second)).toBe(true);
    expect(await enrolls(first)).toBe(false);
    expect(await enrolls(third)).toBe(true);
  });

  test.each(['pending', 'active', 'revoked'])('A6: revoke answers 200 from %s, twice alike', async (from) => {
    const app = await createApp(muster, apiKey);
    if (from === 'active') await enroll(muster, app);
    if (from === 'revoked') await revoke(app);
    expect(await view(app)).toMatchObject({ status: from });
    const answers = [await revoke(app), await revoke(app)];
    const body = { appId: app.appId, status: 'revoked' };
    expect(answers).toMatchObject([
      { status: 200, body },
      { status: 200, body },
    ]);
  });

  test('A7, A8: a revocation kills the credential and every open code; only a code issued after it leads back', async () => {
    const app = await createApp(muster, apiKey);
    const credential = await enroll(muster, app);
    const open = [await anotherCode(app), await anotherCode(app)];
    await revoke(app);
    expect(await works(credential)).toBe(false);
    for (const code of open) expect(await enrolls(code)).toBe(false);
    const after = await anotherCode(app);
    expect(await view(app)).toMatchObject({ status: 'revoked' });
    expect(await works(credential)).toBe(false);
    const fresh = await enroll(muster, after);
    expect(await view(app)).toMatchObject({ status: 'active' });
    expect([await works(credential), await works(fresh)]).toEqual([false, true]);
  });

  test('A7: revoking what is revoked voids the codes issued since', async () => {
    const app = await createApp(muster, apiKey);
    await revoke(app);
    const since = await anotherCode(app);
    await revoke(app);
    expect(await enrolls(since)).toBe(false);
    expect(await enrolls(await anotherCode(app))).toBe(true);
  });

  test.each(['pending', 'active', 'revoked'])('A9: a %s app goes for good, and its audit stays', async (from) => {
    const [app, neighbour] = [await createApp(muster, apiKey), await createApp(muster, apiKey)];
    const open = await anotherCode(app);
    const credential = from === 'active' ? await enroll(muster, app) : undefined;
    if (from === 'revoked') await revoke(app);
    const later = await anotherCode(app);

    clock.advance(1);
    const deleted = await ask(`DELETE /v1/apps/${app.appId}`);
    expect(deleted).toMatchObject({ status: 204, text: '' });
    expect(deleted.headers.has('content-type')).toBe(false);
    expect(deleted.headers.has('content-length')).toBe(false);
    for (const { method, path } of ROUTES.filter((route) => route.path.includes(':appId'))) {
      const target = `${method.toUpperCase()} ${path.replace(':appId', app.appId)}`;
      const body = exampleBody('v1', { method, path });
      expectRefusal(await ask(target, body && { body }), 'not_found');
    }
    for (const code of [app, open, later]) expect(await enrolls(code)).toBe(false);
    if (credential !== undefined) expect(await works(credential)).toBe(false);
    expect((await ask('GET /v1/apps')).body).toEqual({ apps: [await view(neighbour)] });

    const { body } = await asOperator(muster)(`GET /accounts/${accountId}/audit?limit=1000`);
    const entries = (body['entries'] as { appId?: string; action: string }[]).filter(
      ({ appId }) => appId === app.appId,
    );
    const actions = entries.map(({ action }) => action);
    expect(actions).toContain('app.created');
    expect(actions.at(-1)).toBe('app.deleted');
  });

  test('two deletes at once: one does it, the other finds nothing', async () => {
    const { appId } = await createApp(muster, apiKey);
    const answers = await Promise.all([ask(`DELETE /v1/apps/${appId}`), ask(`DELETE /v1/apps/${appId}`)]);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([204, 404]));
  });

  test('a code issued while its app is deleted works no more, whoever comes first', async () => {
    const app = await createApp(muster, apiKey);
    const [deleted, ...issued] = await Promise.all([
      ask(`DELETE /v1/apps/${app.appId}`),
      ...Array.from({ length: 4 }, () => ask(`POST /v1/apps/${app.appId}/enroll-code`)),
    ]);
    expect(deleted.status).toBe(204);
    for (const { status, body } of issued) {
      expect([201, 404]).toContain(status);
      if (status === 201) expect(await enrolls({ ...app, enrollCode: String(body['enrollCode']) })).toBe(false);
    }
  });
});
