import type { StrangersAnswer } from '../http/lossy-proxy.ts';

const HTML = { 'content-type': 'text/html' };
const JSON_TYPE = { 'content-type': 'application/json' };
const error = (code: string): string => JSON.stringify({ error: { code, message: 'It is so.' } });

/** Answers that a daemon gets from strangers on its way to the service, by what they are. */
export const STRANGERS: Readonly<Record<string, StrangersAnswer>> = {
  'the 401 of a proxy that wants a password': {
    status: 401,
    headers: { ...HTML, 'www-authenticate': 'Basic realm="nginx"' },
    body: '<html><h1>401 Authorization Required</h1></html>',
  },
  'the 401 of another API': { status: 401, headers: JSON_TYPE, body: error('unauthorized') },
  'the 401 of another listener': { status: 401, headers: JSON_TYPE, body: error('invalid_token') },
  'a 401 without a body': { status: 401 },
  'a 403 of a firewall': { status: 403, headers: HTML, body: '<h1>Blocked</h1>' },
  'a code of the service under another status': { status: 403, headers: JSON_TYPE, body: error('invalid_credential') },
  'a 404 of a web server': { status: 404, headers: HTML, body: '<h1>404 Not Found</h1>' },
  'a 400 of a load balancer': { status: 400, headers: HTML, body: '<h1>Bad Request</h1>' },
  'a 413 of a proxy': { status: 413, headers: HTML, body: '<h1>Request Entity Too Large</h1>' },
  'a 407': { status: 407, headers: { 'proxy-authenticate': 'Basic realm="out"' } },
  'the way to a sign-in': { status: 302, headers: { location: 'http://portal.example/' } },
  'the page of a portal': { status: 200, headers: HTML, body: '<html>Accept the terms</html>' },
  'nothing with 204': { status: 204 },
  'nothing with 304': { status: 304 },
  'an object with 200': { status: 200, headers: JSON_TYPE, body: '{"status":"ok"}' },
  'a part of a configuration': { status: 200, headers: { ...JSON_TYPE, etag: '"9-a-60"' }, body: '{"revision":9}' },
  'a 500': { status: 500, headers: HTML, body: '<h1>Internal Server Error</h1>' },
};
