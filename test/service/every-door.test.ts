import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SIGN_IN_WAYS, type CredentialKind } from '../../src/domain/access-audit/failed-attempts.ts';
import { LISTENER_NAMES, type ListenerName } from '../../src/config/listeners.ts';
import type { Store } from '../../src/store/port.ts';
import { DOCUMENTED, EVERYTHING, type Served } from '../support/doors/doors.ts';
import { Keyring } from '../support/doors/keyring.ts';
import { send, sendBytes, sendEndless, type Got, type Method, type Sent } from '../support/doors/send.ts';
import { selfSigned } from '../support/http/certificates.ts';
import { judgeAnswer } from '../support/openapi/judge-answer.ts';
import { secretFile } from '../support/panel/signing.ts';
import { scratchDirectory } from '../support/run/scratch-directory.ts';
import { Muster, OPERATOR_TOKEN } from '../support/service/muster.ts';
import { FakeClock } from '../support/time/fake-clock.ts';
import { untilPassing } from '../support/time/until-passing.ts';

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
    headers: { 'x-forwarded-proto': 'https' },
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
      'cache-control': 'no-store, no-transform',
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
  expect(new Set(EVERYTHING.map(({ listener }) => listener))).toEqual(new Set(LISTENER_NAMES));
});

test('whatever strangers may send to the panel in a body says which secret it takes', () => {
  const open = EVERYTHING.flatMap(({ operation }) => (operation?.access === 'anyone' ? [operation] : []));
  const taking = open.filter(({ body }) => Object.keys(body?.shape ?? {}).length > 0);
  expect(taking.filter(({ signsInBy }) => signsInBy === undefined).map(({ id }) => id)).toEqual([]);
  expect(new Set(open.flatMap(({ signsInBy }) => signsInBy ?? []))).toEqual(new Set(SIGN_IN_WAYS));
});

describe.each(WAYS)('by $name', (way) => {
  const clock = new FakeClock(Date.now());
  let muster: Muster;
  let store: Store;
  let keyring: Keyring;
  let addresses = 0;
  beforeAll(async () => {
    const tls = way.isTls ? certificates() : {};
    muster = await Muster.start({
      clock,
      env: {
        MUSTER_TRUSTED_PROXIES: '127.0.0.1/32',
        // Nobody answers there.
        MUSTER_OIDC_ISSUER: 'http://127.0.0.1:9',
        MUSTER_OIDC_CLIENT_ID: 'muster',
        MUSTER_OIDC_CLIENT_SECRET_FILE: secretFile(directory),
        ...tls,
      },
      wrapStore: (opened) => (store = opened),
    });
    keyring = await Keyring.filled({ muster, store, urlOf, ask });
  });
  afterAll(() => muster[Symbol.asyncDispose]());

  const trusted = (): string | undefined => (way.isTls ? readFileSync(join(directory, 'tls.crt'), 'utf8') : undefined);
  const urlOf = (listener: ListenerName): string =>
    `http${way.isTls ? 's' : ''}://127.0.0.1:${muster.service[listener].port}`;
  /** A request as it comes by the way, each from an address of its own: those of one address are bounded. */
  const byWay = (sent: Sent): Sent => {
    const ca = trusted();
    const address = `192.0.2.${(addresses += 1) % 250}`;
    const headers = { 'accept-encoding': 'gzip;q=0', 'x-forwarded-for': address, ...way.headers, ...sent.headers };
    return { ...sent, headers, ...(ca !== undefined && { ca }) };
  };
  const ask = (listener: ListenerName, path: string, sent: Sent): Promise<Got> =>
    send(urlOf(listener) + path, byWay(sent));

  test.each(EVERYTHING.map((served) => [label(served), served] as const))('%s', async (where, served) => {
    for (const request of await keyring.requestsFor(served)) {
      const before = await failures(request.fails);
      const got = await ask(served.listener, request.path, request);
      const place = `${where}, ${request.what}`;
      promises(got, way, place);
      if (request.fails !== undefined) {
        expect([place, (await failures(request.fails)) - before]).toEqual([place, 1]);
        const lines = muster.logged.filter((line) => line.includes(only(got, 'x-request-id') ?? 'none'));
        const told = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
        expect([place, told]).toEqual([place, [expect.objectContaining({ client: expect.any(String) as string })]]);
      }
      if (request.status !== undefined) expect([place, got.status]).toEqual([place, request.status]);
      if (request.code !== undefined) expect([place, got.text]).toEqual([place, expect.stringContaining(request.code)]);
      if (request.isBare === true) expect([place, got.text]).toEqual([place, '']);
      if (request.allow !== undefined) expect([place, only(got, 'allow')]).toEqual([place, request.allow]);
      if (served.api !== undefined && request.isDocumented) {
        const headers = new Headers([...got.fields].map(([name, values]) => [name, values.join(', ')]));
        const url = urlOf(served.listener) + request.path;
        expect(() => judgeAnswer({ method: served.method, url }, { ...got, headers })).not.toThrow();
      }
    }
  });

  /** How many secrets of a kind have failed. */
  async function failures(credential: CredentialKind | undefined): Promise<number> {
    if (credential === undefined) return 0;
    const { text } = await ask('ops', '/metrics', { method: 'GET' });
    const counts = text.matchAll(/^muster_authentication_failures_total\{(.*?)\} (\d+)$/gm);
    return [...counts].reduce(
      (sum, [, labels = '', count]) => sum + (labels.includes(`"${credential}"`) ? Number(count) : 0),
      0,
    );
  }

  test('failed secrets are in the audit, those of an account in its own', async () => {
    const entriesOf = async (path: string): Promise<readonly { action: string; detail: Record<string, unknown> }[]> => {
      const headers = { authorization: `Bearer ${OPERATOR_TOKEN}` };
      const { text } = await ask('ops', `/operator/v1/${path}?limit=1000`, { method: 'GET', headers });
      return (JSON.parse(text) as { entries: { action: string; detail: Record<string, unknown> }[] }).entries;
    };
    const told = async (): Promise<readonly string[]> => {
      const own = await entriesOf(`accounts/${keyring.accountId}/audit`);
      const service = await entriesOf('audit');
      const ways = service
        .filter(({ action }) => action === 'sign-in.refused')
        .map(({ detail }) => String(detail['ways']));
      return [...own, ...service]
        .map(({ action }) => action)
        .concat(ways.flatMap((some) => some.split(' ')))
        .filter((name) => EXPECTED.has(name));
    };
    const EXPECTED: ReadonlySet<string> = new Set(['key.refused', 'token.refused', 'sign-in.refused', ...SIGN_IN_WAYS]);
    await untilPassing(clock, async () => new Set(await told()).size === EXPECTED.size, 10_000);
  });

  test.each(LISTENER_NAMES)('%s: an unknown path, and what is no request', async (listener) => {
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

  test.each(LISTENER_NAMES)('%s: a stranger’s body without an end is answered, and cut off', async (listener) => {
    const writes = EVERYTHING.filter((served) => served.listener === listener && served.method !== 'GET');
    const answers = await Promise.all(
      writes.map(async (served) => {
        const { path, ...sent } = keyring.strange(served);
        return [label(served), await sendEndless(urlOf(listener) + path, byWay(sent))] as const;
      }),
    );
    expect(answers.filter(([, status]) => status < 400 || status >= 500)).toEqual([]);
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
