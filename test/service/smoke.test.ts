import { expect, test } from 'vitest';
import { call, createApp, enroll, poll, tenant } from '../support/service/muster.ts';
import { onEachBackend } from '../support/store/backends.ts';

onEachBackend('the main job', (backend) => {
  test('create, enroll, configure, receive, revoke, refused at once', async () => {
    await using muster = await backend.fresh();
    const { apiKey } = await tenant(muster);
    const app = await createApp(muster, apiKey, 'first');
    const credential = await enroll(muster, app);
    const before = await poll(muster, credential);
    expect(before.body).toMatchObject({ revision: 0, otel: { enabled: false, endpoint: '', headers: {} } });

    const config = { enabled: true, endpoint: 'https://otel.example.com', authHeader: 'X-Key: abc' };
    const put = await call(`${muster.api}/v1/otel-config`, { method: 'PUT', token: apiKey, body: config });
    expect(put).toMatchObject({ status: 200, body: { authHeaderSet: true } });
    const after = await poll(muster, credential, { 'if-none-match': before.headers.get('etag') ?? '' });
    expect(after).toMatchObject({ status: 200, body: { revision: 1, otel: { headers: { 'X-Key': 'abc' } } } });
    const again = await poll(muster, credential, { 'if-none-match': after.headers.get('etag') ?? '' });
    expect(again.status).toBe(304);

    const revoked = await call(`${muster.api}/v1/apps/${app.appId}/revoke`, { method: 'POST', token: apiKey });
    expect(revoked).toMatchObject({ status: 200, body: { appId: app.appId, status: 'revoked' } });
    expect(await poll(muster, credential)).toMatchObject({
      status: 401,
      body: { error: { code: 'invalid_credential' } },
    });
  });
});
