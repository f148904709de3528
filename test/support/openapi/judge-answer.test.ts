import { expect, test } from 'vitest';
import { judgeAnswer, type JudgedAnswer, type JudgedRequest } from './judge-answer.ts';

/* What the shared client of the tests lets through: the committed documents, no more and no less. */

const V1 = 'http://127.0.0.1:8080/v1';
const SECRET = 'mst_code_secret';
const BEARER = { 'www-authenticate': 'Bearer' };
const EVERY = {
  'cache-control': 'no-store, no-transform',
  'x-request-id': 'deploy-42',
  'content-type': 'application/json',
};
const RATE = { ratelimit: '"account";r=599;t=60', 'ratelimit-policy': '"account";q=600;w=60' };
const APP = {
  appId: 'k3v9x0q2m7t5b8n1c4d6',
  name: SECRET,
  status: 'active',
  platform: 'linux',
  agentVersion: '1.4.2',
  lastSeenAt: null,
  createdAt: '2026-01-30T12:00:00.000Z',
};
const listApps: JudgedRequest = { method: 'GET', url: `${V1}/apps?further=1` };
const readApp: JudgedRequest = { method: 'GET', url: `${V1}/apps/${APP.appId}` };
const deleteApp: JudgedRequest = { method: 'DELETE', url: `${V1}/apps/${APP.appId}` };
const readUsage: JudgedRequest = { method: 'GET', url: 'http://127.0.0.1:8082/operator/v1/usage?month=2026-01' };

const answer = (status: number, body: unknown, headers: Record<string, string | undefined> = {}): JudgedAnswer => ({
  status,
  headers: new Headers(
    Object.entries({ ...EVERY, ...RATE, ...headers }).filter((pair): pair is [string, string] => pair[1] !== undefined),
  ),
  text: typeof body === 'string' ? body : JSON.stringify(body),
});
const error = (code: string) => ({ error: { code, message: SECRET } });
const UNCHARGED = { ratelimit: undefined, 'ratelimit-policy': undefined };

test.each<[JudgedRequest, JudgedAnswer, string]>([
  [listApps, answer(200, { apps: [APP] }), 'all apps'],
  [readApp, answer(200, APP), 'one app'],
  [readApp, answer(404, error('not_found')), 'a documented error'],
  [readApp, answer(401, error('invalid_key'), { ...UNCHARGED, ...BEARER }), 'a key that is charged for nothing'],
  [deleteApp, answer(204, ''), 'no body'],
  [
    readUsage,
    answer(200, '"month"', {
      ...UNCHARGED,
      'content-type': 'text/csv; charset=utf-8',
      'muster-usage-complete': 'true',
    }),
    'another documented type',
  ],
  [{ method: 'PUT', url: `${V1}/apps` }, answer(418, ''), 'a method that is not documented'],
  [{ method: 'HEAD', url: `${V1}/apps` }, answer(200, ''), 'HEAD, which is GET without the body'],
  [{ method: 'GET', url: `${V1}/apps/` }, answer(404, ''), 'a path that is not documented'],
  [{ method: 'GET', url: 'http://127.0.0.1:8082/readyz' }, answer(200, '{}'), 'a path of no API'],
])('%# passes: %s', (request, judged) => {
  expect(() => judgeAnswer(request, judged)).not.toThrow();
});

test.each<[JudgedRequest, JudgedAnswer, string]>([
  [readApp, answer(418, error('not_found')), 'readApp, 418: the status is not documented (not_found)'],
  [readApp, answer(404, error('invalid_name')), 'readApp, 404: its code is not documented (invalid_name)'],
  [readApp, answer(404, ''), 'readApp, 404: its code is not documented (none)'],
  [
    readApp,
    answer(404, { ...error('not_found'), more: SECRET }),
    'readApp, 404: the whole must NOT have additional properties (more)',
  ],
  [
    readApp,
    answer(200, { ...APP, more: SECRET }),
    'readApp, 200: the whole must NOT have additional properties (more)',
  ],
  [
    listApps,
    answer(200, { apps: [{ ...APP, more: SECRET }] }),
    'listApps, 200: /apps/0 must NOT have additional properties (more)',
  ],
  [readApp, answer(200, { ...APP, appId: SECRET }), 'readApp, 200: /appId must match pattern'],
  [
    readApp,
    answer(200, { ...APP, lastSeenAt: undefined }),
    "readApp, 200: the whole must have required property 'lastSeenAt'",
  ],
  [
    readApp,
    answer(200, { ...APP, createdAt: '2026-02-30T12:00:00.000Z' }),
    'readApp, 200: /createdAt must match format "date-time"',
  ],
  [readApp, answer(200, SECRET), 'readApp, 200: the body is no JSON'],
  [
    readApp,
    answer(200, APP, { 'content-type': 'text/html' }),
    'readApp, 200: the media type "text/html" is not documented',
  ],
  [deleteApp, answer(204, SECRET), 'deleteApp, 204: a body, where none is documented'],
  [readApp, answer(200, APP, { 'x-request-id': undefined }), 'readApp, 200: the header X-Request-Id is missing'],
  [readApp, answer(200, APP, UNCHARGED), 'readApp, 200: the header RateLimit is missing'],
  [readApp, answer(200, APP, { ratelimit: SECRET }), 'readApp, 200: the header RateLimit has another form'],
  [readApp, answer(429, error('rate_limited')), 'readApp, 429: the header Retry-After is missing'],
  [
    readApp,
    answer(429, error('rate_limited'), { 'retry-after': '0' }),
    'readApp, 429: the header Retry-After has another form',
  ],
  [
    readApp,
    answer(429, error('rate_limited'), { 'retry-after': SECRET }),
    'readApp, 429: the header Retry-After: the whole must be integer',
  ],
  [
    readApp,
    answer(200, APP, { 'cache-control': 'no-store' }),
    'readApp, 200: the header Cache-Control has another form',
  ],
  [readApp, answer(401, error('invalid_key'), UNCHARGED), 'readApp, 401: the header WWW-Authenticate is missing'],
  [
    { method: 'GET', url: 'http://127.0.0.1:8081/device/v1/config' },
    answer(304, '', { ...UNCHARGED, 'content-type': undefined }),
    'pollConfig, 304: the header ETag is missing',
  ],
  [
    readApp,
    answer(200, APP, { 'x-powered-by': SECRET }),
    'readApp, 200: headers that are not documented: x-powered-by',
  ],
])('%# is a fault, told without a value', (request, judged, words) => {
  expect(() => judgeAnswer(request, judged)).toThrow(words);
  expect(() => judgeAnswer(request, judged)).not.toThrow(SECRET);
});
