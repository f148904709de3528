import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exchange } from '../../support/http/raw-http.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { call, createApp, Muster, OPERATOR_TOKEN, tenant } from '../../support/service/muster.ts';

const INVALID_TOKEN = { status: 401, body: { error: { code: 'invalid_token' } } };

describe('the operator’s token', () => {
  const dir = scratchDirectory('muster');
  const [old, fresh] = ['old-operator-token-0123456789abcdef', 'new-operator-token-0123456789abcdef'];
  let muster: Muster;
  beforeAll(async () => {
    const file = join(dir, 'tokens');
    writeFileSync(file, `${old}\n\n${fresh}\r\n`);
    muster = await Muster.start({ env: { MUSTER_OPERATOR_TOKEN_FILE: file } });
  });
  afterAll(async () => {
    await muster[Symbol.asyncDispose]();
    rmSync(dir, { recursive: true });
  });
  const ask = (token?: string, path = '/accounts') => call(`${muster.ops}/operator/v1${path}`, { token });

  test.each([
    [OPERATOR_TOKEN, 'that of the variable'],
    [old, 'the first line of the file'],
    [fresh, 'the last line of the file'],
  ])('%s is valid (%s)', async (token) => {
    expect((await ask(token)).status).toBe(200);
  });

  test.each<[string | undefined, string]>([
    [undefined, 'none'],
    ['', 'an empty one, though the file has an empty line'],
    [OPERATOR_TOKEN.slice(0, -1), 'one character less'],
    [`${OPERATOR_TOKEN}x`, 'one character more'],
    [OPERATOR_TOKEN.toUpperCase(), 'another case'],
    [`${old}${fresh}`, 'two in one'],
  ])('%s is not (%s)', async (token) => {
    const refused = await ask(token);
    expect(refused).toMatchObject(INVALID_TOKEN);
    expect(refused.headers.get('www-authenticate')).toBe('Bearer');
  });

  test('nor an API key, nor two fields, nor another scheme', async () => {
    const { apiKey } = await tenant(muster);
    expect(await ask(apiKey)).toMatchObject(INVALID_TOKEN);
    const raw = (fields: string) =>
      exchange(muster.service.ops.port, `GET /operator/v1/accounts HTTP/1.1\r\nHost: a\r\n${fields}\r\n`);
    const bearer = `Authorization: Bearer ${OPERATOR_TOKEN}\r\n`;
    expect((await raw(bearer)).status).toBe(200);
    expect((await raw(bearer + bearer)).status).toBe(401);
    expect((await raw(bearer.replace('Bearer', 'Basic'))).status).toBe(401);
  });

  test.each(['/accounts', '/accounts/nobody', '/nothing', '', '/'])(
    'without it no path is told from another: %s',
    async (path) => {
      expect(await ask(undefined, path)).toMatchObject(INVALID_TOKEN);
      expect((await ask(undefined, path)).text).toBe((await ask()).text);
    },
  );

  test('elsewhere on the listener an unknown path is 404, without it', async () => {
    for (const path of ['/', '/v1/apps', '/operator', '/operator/v2', '/Metrics', '/livez/']) {
      const answer = await call(muster.ops + path, { undocumented: 'another listener' });
      expect(answer).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } });
    }
  });

  test('it opens neither /v1 nor the device plane', async () => {
    expect((await call(`${muster.api}/v1/apps`, { token: OPERATOR_TOKEN })).status).toBe(401);
    expect((await call(`${muster.device}/device/v1/config`, { token: OPERATOR_TOKEN })).status).toBe(401);
  });
});

test('without a token of its own, an embedded store makes one and keeps it', async () => {
  const dataDir = scratchDirectory('muster');
  const start = () => Muster.start({ dataDir, env: { MUSTER_OPERATOR_TOKEN: '' } });
  try {
    {
      await using muster = await start();
      const token = readFileSync(join(dataDir, 'operator-token'), 'utf8').trim();
      expect(token.length).toBeGreaterThanOrEqual(32);
      expect((await call(`${muster.ops}/operator/v1/accounts`, { token })).status).toBe(200);
      expect((await call(`${muster.ops}/operator/v1/accounts`, { token: OPERATOR_TOKEN })).status).toBe(401);
    }
    const token = readFileSync(join(dataDir, 'operator-token'), 'utf8').trim();
    await using again = await start();
    expect((await call(`${again.ops}/operator/v1/accounts`, { token })).status).toBe(200);
  } finally {
    rmSync(dataDir, { recursive: true });
  }
});

test('its changes are logged by key and account, never by secret', async () => {
  await using muster = await Muster.start();
  const { accountId, apiKey } = await tenant(muster);
  await createApp(muster, apiKey);
  const logged = muster.logged.join('');
  expect(logged).toContain(accountId);
  for (const secret of [OPERATOR_TOKEN, apiKey]) expect(logged).not.toContain(secret);
});
