import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { DeviceClient, MusterError, OperatorClient, OwnerClient } from '#client';
import { freePorts } from '../../support/service/free-ports.ts';

/* No secret stands in an error, nor in what is printed of a client. */

const SECRET = 'mst_live_secret_0123456789';
const [port = 0] = await freePorts(1);
/** Nobody listens there. */
const ADDRESS = `http://127.0.0.1:${port}`;

const clientsOf = (secret: string | (() => string), fetch?: typeof globalThis.fetch) => {
  const options = { url: ADDRESS, timeoutMs: 1, random: () => 0, fetch };
  return [
    new OwnerClient({ ...options, apiKey: secret }),
    new OperatorClient({ ...options, token: secret }),
    new DeviceClient({ ...options, credential: secret }),
  ];
};

/** Everything that a log could make of a value. */
const printed = (value: unknown): string =>
  [
    inspect(value, { depth: 10, showHidden: true, getters: true }),
    String(value),
    JSON.stringify(value),
    value instanceof Error ? `${value.stack ?? ''}${value.message}` : '',
  ].join('\n');

test.each([SECRET, () => SECRET])('a client shows its address alone', (secret) => {
  for (const client of clientsOf(secret)) {
    expect(printed(client)).not.toContain(SECRET);
    expect(inspect(client)).toMatch(/^(?:Owner|Operator|Device)Client\(http:\S+\)$/);
    expect(inspect(client)).toContain(`(${ADDRESS})`);
    expect(String(client)).toBe(inspect(client));
  }
});

async function errorsOf(fetch: typeof globalThis.fetch | undefined, secret: string = SECRET): Promise<MusterError[]> {
  const calls = clientsOf(() => secret, fetch).map((client) => client.request({ method: 'POST', path: '/x' }));
  const results = await Promise.allSettled(calls);
  return results.map((result) => {
    if (result.status === 'rejected' && result.reason instanceof MusterError) return result.reason;
    throw new Error('no MusterError');
  });
}

test('a redirect is an error, and nothing is sent to where it leads', async () => {
  const asked: string[] = [];
  await using elsewhere = createServer(({ url = '' }, response) => {
    asked.push(url);
    response.end('{}');
  }).listen(0, '127.0.0.1');
  await once(elsewhere, 'listening');
  const location = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/v1/apps`;
  await using server = createServer((_, response) => {
    response.writeHead(307, { location }).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const owner = new OwnerClient({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, apiKey: SECRET });
  await expect(owner.createApp({})).rejects.toMatchObject({ code: 'bad_answer' });
  await expect(owner.listApps()).rejects.toMatchObject({ code: 'bad_answer' });
  expect(asked).toEqual([]);
});

describe('an error', () => {
  test('of a connection does not hold it', async () => {
    for (const error of await errorsOf(undefined)) {
      expect(['network', 'timeout']).toContain(error.code);
      expect(printed(error)).not.toContain(SECRET);
    }
  });

  test('of an answer that repeats what was sent does not hold it', async () => {
    const echo: typeof fetch = async (_, init) => {
      const sent = new Headers(init?.headers).get('authorization') ?? '';
      const message = `No ${sent}\u001b[2J${'x'.repeat(5000)}`;
      const headers = { 'x-request-id': sent.slice('Bearer '.length) };
      return new Response(JSON.stringify({ error: { code: 'invalid_key', message } }), { status: 401, headers });
    };
    for (const error of await errorsOf(echo)) {
      expect(error.requestId).toMatch(/^[0-9a-f-]{32,36}$/);
      expect(error.message).toMatch(/^No Bearer … \[2Jx+$/);
      expect(error.message.length).toBeLessThan(1100);
      expect(printed(error)).not.toContain(SECRET);
    }
  });

  test.each(['', 'a b', `${SECRET}\n`, 'ä', 'x'.repeat(5000)])(
    'of a secret that no header takes (%j) does not hold it',
    async (bad) => {
      for (const error of await errorsOf(undefined, bad)) {
        expect(error).toMatchObject({ code: 'invalid_argument', status: 0 });
        if (bad !== '') expect(printed(error)).not.toContain(bad.trim());
      }
      expect(() => clientsOf(bad)).toThrow(MusterError);
    },
  );

  test.each([Buffer.from(`${SECRET}\n${SECRET}`), 7, null])(
    'of a secret that is no text, as a file read without its encoding, does not hold it (case %#)',
    async (bad) => {
      for (const error of await errorsOf(undefined, bad as unknown as string)) {
        expect(error).toMatchObject({ code: 'invalid_argument', status: 0 });
        expect(printed(error)).not.toContain(SECRET);
      }
      expect(() => clientsOf(bad as unknown as string)).toThrow(MusterError);
    },
  );

  test('of a source that fails says so', async () => {
    const failing = (): string => {
      throw new Error('no such file');
    };
    const client = new OwnerClient({ url: ADDRESS, apiKey: failing });
    await expect(client.listApps()).rejects.toMatchObject({
      code: 'invalid_argument',
      message: 'The API key could not be read.',
      cause: { message: 'no such file' },
    });
    const silent = new OwnerClient({ url: ADDRESS, apiKey: (() => undefined) as unknown as () => string });
    await expect(silent.listApps()).rejects.toMatchObject({ code: 'invalid_argument' });
  });
});

test('a source is asked before each attempt, so that a renewed secret is taken', async () => {
  const sent: (string | null)[] = [];
  const fetch: typeof globalThis.fetch = async (_, init) => {
    sent.push(new Headers(init?.headers).get('authorization'));
    return sent.length === 1 ? new Response('', { status: 502 }) : new Response('{"apps":[]}');
  };
  const secrets = ['old', 'new'];
  const apiKey = async (): Promise<string> => secrets.shift() ?? '';
  await new OwnerClient({ url: 'http://service', apiKey, fetch, random: () => 0 }).listApps();
  expect(sent).toEqual(['Bearer old', 'Bearer new']);
});

test('a daemon sends none until it has one, and its proof with its enrollment alone', async () => {
  const sent: (string | null)[] = [];
  const otel = { enabled: false, endpoint: '', headers: {}, evidenceLevel: 'hashes' };
  const body = { appId: 'a', credential: 'c', revision: 1, pollIntervalSeconds: 60, otel };
  const fetch: typeof globalThis.fetch = async (_, init) => {
    sent.push(new Headers(init?.headers).get('authorization'));
    return new Response(JSON.stringify(body), { headers: { etag: '"1"' } });
  };
  const device = new DeviceClient({ url: 'http://service', fetch });
  await device.pollConfig();
  device.useCredential('mine');
  await device.enrollDevice({ appId: 'a', enrollCode: 'c' });
  await device.enrollDevice({ appId: 'a', enrollCode: 'c' }, { credential: 'proof' });
  await device.pollConfig();
  expect(sent).toEqual([null, null, 'Bearer proof', 'Bearer mine']);
});
