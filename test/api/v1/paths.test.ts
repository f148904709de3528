import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROUTES } from '../../../src/api/v1/gateway.ts';
import { connectRaw, type RawAnswer } from '../../support/http/raw-http.ts';
import { exampleBody } from '../../support/openapi/documents.ts';
import { createApp, Muster, tenant } from '../../support/service/muster.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

const UNKNOWN = 'a'.repeat(20);
/** The operations on one app, each with a body that it takes. */
const ON_APPS = ROUTES.filter(({ path }) => path.includes(':appId')).map(({ method, path }) => ({
  operation: `${method.toUpperCase()} ${path}`,
  body: JSON.stringify(exampleBody('v1', { method, path })) ?? '',
}));
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
/** The methods that a path has not. */
const OTHER_METHODS = [...Map.groupBy(ROUTES, ({ path }) => path)].flatMap(([path, own]) => {
  const allowed = own.map(({ method }) => method.toUpperCase());
  const allow = allowed.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  return METHODS.filter((method) => !allow.includes(method)).map((method) => [method, path, allow] as const);
});
const NOT_FOUND = '{"error":{"code":"not_found","message":"No such endpoint, or no such record in this account."}}';

describe('paths of /v1', () => {
  const clock = new FakeClock();
  let muster: Muster;
  let apiKey: string;
  let own: string;
  let foreign: string;
  beforeAll(async () => {
    muster = await Muster.start({ clock });
    ({ apiKey } = await tenant(muster));
    own = (await createApp(muster, apiKey)).appId;
    foreign = (await createApp(muster, (await tenant(muster)).apiKey)).appId;
  });
  afterAll(async () => {
    await muster[Symbol.asyncDispose]();
  });

  /** In an empty rate window, so that answers can be compared to the byte. */
  async function ask(request: string, key: string | undefined = apiKey, body = ''): Promise<RawAnswer> {
    clock.advance(60_000);
    const authorization = key === '' ? '' : `Authorization: Bearer ${key}\r\n`;
    const length = body === '' ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`;
    await using connection = await connectRaw(muster.service.api.port);
    const fields = `Host: a\r\nX-Request-Id: same\r\n${authorization}${length}Connection: close\r\n`;
    await connection.send(Buffer.from(`${request} HTTP/1.1\r\n${fields}\r\n${body}`, 'latin1'));
    return await connection.answer(request.startsWith('HEAD') ? { method: 'HEAD' } : {});
  }
  const bytes = ({ raw }: RawAnswer): string => raw.replace(/^Date: .*$/m, '');

  test.each(ON_APPS)(
    'H8: $operation: unknown, foreign and malformed ids are answered to the byte alike',
    async ({ operation, body }) => {
      const askFor = async (appId: string, key?: string) => await ask(operation.replace(':appId', appId), key, body);
      const unknown = await askFor(UNKNOWN);
      expect(unknown.status).toBe(404);
      expect(unknown.body).toBe(NOT_FOUND);
      expect(bytes(await askFor(foreign))).toBe(bytes(unknown));
      for (const malformed of [
        own.slice(1),
        `${own}a`,
        own.toUpperCase(),
        `${own.slice(1)}-`,
        `${own}%0a`,
        `${own}%00`,
        `${own}%2F`,
        `%2F${own}`,
        `${own}%`,
        '%zz',
        '%E0%A4%A',
        '%c0%ae',
        'constructor',
      ]) {
        expect(bytes(await askFor(malformed)), `${malformed} is not found either`).toBe(bytes(unknown));
      }
      const stranger = await askFor(own, (await tenant(muster)).apiKey);
      expect(bytes(stranger), 'what is the caller’s own is not found by another one').toBe(bytes(unknown));
    },
  );

  test('H8: of a foreign id nothing happens to the app', async () => {
    const owner = await tenant(muster);
    const { appId } = await createApp(muster, owner.apiKey);
    const before = await ask(`GET /v1/apps/${appId}`, owner.apiKey);
    for (const { operation, body } of ON_APPS) await ask(operation.replace(':appId', appId), apiKey, body);
    expect(bytes(await ask(`GET /v1/apps/${appId}`, owner.apiKey))).toBe(bytes(before));
  });

  test.each<readonly [method: string, path: string, allow: readonly string[]]>([
    ...OTHER_METHODS,
    // Some stand here as the specification has them, and not as the routes are listed.
    ['PUT', '/v1/apps', ['POST', 'GET', 'HEAD']],
    ['POST', '/v1/apps/:appId', ['GET', 'HEAD', 'DELETE']],
    ['PATCH', '/v1/otel-config', ['GET', 'HEAD', 'PUT', 'DELETE']],
    ...['OPTIONS', 'TRACE', 'PROPFIND', 'M-SEARCH'].map(
      (method) => [method, '/v1/apps', ['POST', 'GET', 'HEAD']] as const,
    ),
  ])('H10: %s %s is 404, and Allow says %s', async (method, path, allow) => {
    const target = `${method} ${path.replace(':appId', own)}`;
    const answer = await ask(target);
    expect(answer).toMatchObject({ status: 404, body: method === 'HEAD' ? '' : NOT_FOUND });
    expect(answer.headers.get('allow')).toEqual([allow.join(', ')]);
    const stranger = await ask(target, '');
    expect(stranger.status).toBe(401);
    expect(stranger.headers.get('allow'), 'H9: a stranger learns no methods').toBeUndefined();
  });

  test.each([
    ['/v1', 'the prefix alone'],
    ['/v1/', 'the prefix and a slash'],
    ['/v1/Apps', 'H12: another case'],
    ['/v1/apps/', 'H12: a slash at the end'],
    ['/v1/otel-config/', 'H12: and of another path'],
    ['/v1/apps/{appId}/', 'H12: and of a record'],
    ['/v1/apps/{appId}/Revoke', 'H12: another case at the end'],
    ['/v1//apps', 'a double slash'],
    ['/v1/./apps', 'a dot segment is not resolved'],
    ['/v1/x/../apps', 'nor is a double one'],
    ['/v1/%61pps', 'an escaped letter of the path'],
    ['/v1/apps;a=1', 'a path parameter'],
    ['/v1/apps#a', 'a fragment is no part of a target'],
    ['/v1/apps/{appId}/unknown', 'an unknown operation'],
    ['/v1/enroll', 'an unknown path'],
  ])('H9: %s is 404 with a key and 401 without (%s)', async (path) => {
    const target = path.replace('{appId}', own);
    for (const method of ['GET', 'POST', 'OPTIONS']) {
      const known = await ask(`${method} ${target}`);
      expect(known).toMatchObject({ status: 404, body: NOT_FOUND });
      expect(known.headers.get('ratelimit'), 'it is charged like any request').toEqual(['"account";r=599;t=60']);
      const stranger = await ask(`${method} ${target}`, '');
      expect(stranger.status).toBe(401);
      expect(stranger.body).toContain('"invalid_key"');
    }
  });

  test.each([
    ['/', 'the root'],
    ['/metric', 'a path of nobody'],
    ['/V1/apps', 'H12: the prefix in another case'],
    ['//v1/apps', 'a double slash in front'],
    ['/v1apps', 'a path that only begins like the prefix'],
    ['/%76%31/apps', 'the prefix in escapes'],
    ['/v1\\apps#', 'a backslash is no slash, nor does a fragment make it one'],
    ['*', 'the asterisk of OPTIONS'],
    ['http://', 'an absolute target without host and path'],
    ['http://a', 'an absolute target without a path'],
    ['http://a?/v1/apps', 'an absolute target with a query alone'],
    ['ftp://a/v1/apps', 'an absolute target of another scheme'],
    ['%', 'a target that is none'],
    ['/v1/apps\xa0', 'H21: a byte that is no character of a target'],
  ])('H9: elsewhere there is nothing, and no key is asked for: %s (%s)', async (target) => {
    for (const [method, key] of [
      ['GET', ''],
      ['OPTIONS', ''],
      ['POST', apiKey],
    ] as const) {
      const answer = await ask(`${method} ${target}`, key);
      expect(answer).toMatchObject({ status: 404, body: NOT_FOUND });
      expect(answer.headers.get('ratelimit'), 'nobody is charged').toBeUndefined();
    }
  });

  test.each([
    ['/v1/apps', 'the canonical path'],
    ['/v1/apps?', 'an empty query'],
    ['/v1/apps?a=%zz#b', 'a query that nobody reads'],
    ['http://example.com/v1/apps', 'absolute-form (RFC 9112, 3.2.2)'],
    ['HTTPS://user:pass@[::1/v1/apps?a', 'absolute-form, whatever its authority'],
  ])('but %s is the list (%s)', async (target) => {
    expect(await ask(`GET ${target}`)).toMatchObject({ status: 200 });
    expect(await ask(`GET ${target}`, '')).toMatchObject({ status: 401 });
  });
});
