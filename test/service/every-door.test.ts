import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LISTENERS } from '../../src/metrics/labels.ts';
import type { Store } from '../../src/store/port.ts';
import { DOCUMENTED, EVERYTHING, type ListenerName, type Served } from '../support/doors/doors.ts';
import { Keyring } from '../support/doors/keyring.ts';
import { send, sendBytes, type Got, type Method, type Sent } from '../support/doors/send.ts';
import { selfSigned } from '../support/http/certificates.ts';
import { judgeAnswer } from '../support/openapi/judge-answer.ts';
import { scratchDirectory } from '../support/run/scratch-directory.ts';
import { Muster } from '../support/service/muster.ts';

/*
 * Every door has the promises of the other doors: what holds of an answer holds of every answer of every listener. The
 * lists by which the listeners serve are walked, so that a new operation is in here without a line.
 */

/** How the client's connection reaches the service, and what that says of encryption. */
interface Way {
  readonly name: string;
  readonly isEncrypted: boolean;
  readonly headers: Readonly<Record<string, string>>;
  readonly isTls: boolean;
}
const WAYS: readonly Way[] = [
  { name: 'plain HTTP', isEncrypted: false, headers: {}, isTls: false },
  {
    name: 'a trusted proxy with TLS',
    isEncrypted: true,
    headers: { 'x-forwarded-proto': 'https', 'x-forwarded-for': '192.0.2.7' },
    isTls: false,
  },
  { name: 'TLS', isEncrypted: true, headers: {}, isTls: true },
];

const only = (got: Got, name: string): string | undefined => {
  const values = got.fields.get(name) ?? [];
  expect(values.length, `${name} stands once`).toBeLessThan(2);
  return values[0];
};

/** Holds an answer to what every answer promises. */
function promises(got: Got, way: Way, where: string): void {
  const told = {
    'x-content-type-options': only(got, 'x-content-type-options'),
    'strict-transport-security': only(got, 'strict-transport-security'),
    'cache-control': only(got, 'cache-control'),
    'content-encoding': only(got, 'content-encoding'),
  };
  expect([where, told]).toEqual([
    where,
    {
      'x-content-type-options': 'nosniff',
      'strict-transport-security': way.isEncrypted ? 'max-age=31536000' : undefined,
      'cache-control': 'no-store',
      // The client says so with every request.
      'content-encoding': undefined,
    },
  ]);
  const policy = (only(got, 'content-security-policy') ?? '').split('; ');
  expect([where, policy]).toEqual([where, expect.arrayContaining(["default-src 'none'", "frame-ancestors 'none'"])]);
  expect([where, only(got, 'x-request-id')]).toEqual([where, expect.stringMatching(/^[A-Za-z0-9._-]{1,128}$/)]);
}

const headerLines = (headers: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(headers).map(([name, value]) => `${name}: ${value}`);

const label = ({ listener, method, path }: Served): string => `${listener}: ${method} ${path}`;

let directory: string;
beforeAll(() => {
  directory = scratchDirectory('doors');
});
afterAll(() => rmSync(directory, { recursive: true }));

function certificates(): Record<string, string> {
  const { cert, key } = selfSigned(directory, 'doors');
  const [certFile, keyFile] = [join(directory, 'tls.crt'), join(directory, 'tls.key')];
  writeFileSync(certFile, cert);
  writeFileSync(keyFile, key, { mode: 0o600 });
  const names = ['API', 'DEVICE', 'OPS', 'PANEL'];
  return Object.fromEntries(
    names.flatMap((name) => [
      [`MUSTER_${name}_TLS_CERT_FILE`, certFile],
      [`MUSTER_${name}_TLS_KEY_FILE`, keyFile],
    ]),
  );
}

test('the walk has every operation of the documents, and each once', () => {
  expect(EVERYTHING.filter(({ operation }) => operation).length).toBe(DOCUMENTED);
  expect(new Set(EVERYTHING.map(label)).size).toBe(EVERYTHING.length);
  expect(new Set(EVERYTHING.map(({ listener }) => listener))).toEqual(new Set(LISTENERS));
});

describe.each(WAYS)('by $name', (way) => {
  let muster: Muster;
  let store: Store;
  let keyring: Keyring;
  beforeAll(async () => {
    const tls = way.isTls ? certificates() : {};
    muster = await Muster.start({
      env: { MUSTER_TRUSTED_PROXIES: way.isTls ? '192.0.2.1/32' : '127.0.0.1/32', ...tls },
      wrapStore: (opened) => (store = opened),
    });
    keyring = await Keyring.filled({ muster, store, urlOf, ask });
  });
  afterAll(() => muster[Symbol.asyncDispose]());

  const trusted = (): string | undefined => (way.isTls ? readFileSync(join(directory, 'tls.crt'), 'utf8') : undefined);
  const urlOf = (listener: ListenerName): string =>
    `http${way.isTls ? 's' : ''}://127.0.0.1:${muster.service[listener].port}`;
  const ask = (listener: ListenerName, path: string, sent: Sent): Promise<Got> => {
    const ca = trusted();
    const headers = { 'accept-encoding': 'gzip;q=0', ...way.headers, ...sent.headers };
    return send(urlOf(listener) + path, { ...sent, headers, ...(ca !== undefined && { ca }) });
  };

  test.each(EVERYTHING.map((served) => [label(served), served] as const))('%s', async (where, served) => {
    for (const request of await keyring.requestsFor(served)) {
      const got = await ask(served.listener, request.path, request);
      const place = `${where}, ${request.what}`;
      promises(got, way, place);
      if (request.status !== undefined) expect([place, got.status]).toEqual([place, request.status]);
      if (request.code !== undefined) expect([place, got.text]).toEqual([place, expect.stringContaining(request.code)]);
      if (request.allow !== undefined) expect([place, only(got, 'allow')]).toEqual([place, request.allow]);
      if (served.api !== undefined && request.isDocumented) {
        const headers = new Headers([...got.fields].map(([name, values]) => [name, values.join(', ')]));
        const url = urlOf(served.listener) + request.path;
        expect(() => judgeAnswer({ method: served.method, url }, { ...got, headers })).not.toThrow();
      }
    }
  });

  test.each(LISTENERS)('%s: an unknown path, and what is no request', async (listener) => {
    const methods: readonly Method[] = ['GET', 'POST', 'DELETE'];
    for (const path of ['/nothing.txt', '/%zz', '/v1/%zz', '/operator/v1/%zz', '/panel/v1/%zz']) {
      for (const method of methods) {
        const got = await ask(listener, path, { method });
        promises(got, way, `${listener}: ${method} ${path}`);
        expect([path, got.status < 400]).toEqual([path, false]);
      }
    }
    // H21: of bytes that are no request nobody knows what a proxy says.
    const direct = { ...way, isEncrypted: way.isTls };
    for (const bytes of ['NONSENSE\r\n\r\n', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n']) {
      promises(await sendBytes(urlOf(listener), bytes, trusted()), direct, `${listener}: ${bytes}`);
    }
    const twoHosts = ['GET / HTTP/1.1', 'Host: a', 'Host: b', ...headerLines(way.headers), '', ''].join('\r\n');
    promises(await sendBytes(urlOf(listener), twoHosts, trusted()), way, `${listener}: two hosts`);
  });

  test('each has its own name in the metrics, and no path is one', async () => {
    const { text } = await ask('ops', '/metrics', { method: 'GET' });
    const series = [...text.matchAll(/^muster_http_request_duration_seconds_count\{(.*?)\} /gm)].map(
      ([, labels = '']) =>
        Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value])),
    );
    const known = new Set(series.map(({ listener, route }) => `${listener} ${route}`));
    expect(EVERYTHING.filter(({ listener, route }) => !known.has(`${listener} ${route}`)).map(label)).toEqual([]);
    const expected = new Set(EVERYTHING.map(({ listener, route }) => `${listener} ${route}`));
    const others = [...known].filter((name) => !expected.has(name) && !name.endsWith(' (none)'));
    expect(others).toEqual([]);
  });
});
