import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerBench } from './answering.ts';

/*
 * The least that a poll can cost on node:http: only the checks that Muster makes of a poll, and its answer, without a
 * store, metrics, a log, a deadline or a bound.
 */
interface Known {
  readonly etag: string;
  readonly active: boolean;
  readonly disabled: boolean;
  minute: number;
  polls: number;
  seenAt: number;
}

const [file = ''] = process.argv.slice(2);
const polling = JSON.parse(readFileSync(file, 'utf8')) as readonly (readonly [credential: string, etag: string])[];
const digest = (token: string): string => hash('sha256', token, 'base64url');
const byHash = new Map<string, Known>(
  polling.map(([credential, etag]) => [
    digest(credential),
    { etag, active: true, disabled: false, minute: 0, polls: 0, seenAt: 0 },
  ]),
);
const RATE_PER_MINUTE = 100_000;
let answered = 0;

function check(rawHeaders: readonly string[]): Known | undefined {
  const fields: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === 13 && name.toLowerCase() === 'authorization') fields.push(rawHeaders[i + 1] ?? '');
  }
  const [field] = fields;
  if (field === undefined || fields.length !== 1) return undefined;
  const token = /^bearer +([^\s]+) *$/i.exec(field)?.[1];
  if (token === undefined || !/^mst_dev_[A-Za-z0-9_-]{43,128}$/.test(token)) return undefined;
  const known = byHash.get(digest(token));
  if (!known?.active || known.disabled) return undefined;
  const now = Date.now();
  const minute = Math.floor(now / 60_000);
  if (known.minute !== minute) [known.minute, known.polls] = [minute, 0];
  known.polls += 1;
  known.seenAt = now;
  return known.polls > RATE_PER_MINUTE ? undefined : known;
}

const server = createServer({ optimizeEmptyRequests: true }, (request, response) => {
  const { method, url, headers } = request;
  const known = method === 'GET' && url === '/device/v1/config' ? check(request.rawHeaders) : undefined;
  if (known === undefined) return void response.writeHead(401, ['Content-Length', '0']).end();
  const sent = headers['x-request-id'];
  const requestId = typeof sent === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(sent) ? sent : `raw-${(answered += 1)}`;
  if (headers['if-none-match'] !== known.etag) return void response.writeHead(412, ['Content-Length', '0']).end();
  response.writeHead(304, ['Cache-Control', 'no-store', 'X-Request-Id', requestId, 'ETag', known.etag]).end();
});
server.listen(0, '127.0.0.1', () => process.send?.({ raw: (server.address() as AddressInfo).port }));
answerBench();
