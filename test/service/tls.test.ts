import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { Agent } from 'node:https';
import { connect as connectTcp } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { selfSigned, type SelfSigned } from '../support/http/certificates.ts';
import { RawConnection } from '../support/http/raw-http.ts';
import { MountedSecret } from '../support/records/mounted-secret.ts';
import { scratchDirectory } from '../support/run/scratch-directory.ts';
import { call, Muster, tenant } from '../support/service/muster.ts';
import { secureCall } from '../support/service/secure-call.ts';
import { FakeClock } from '../support/time/fake-clock.ts';
import { until } from '../support/time/until.ts';

const FILES_EVERY_MS = 10_000;

let dir: string;
let apiFirst: SelfSigned, apiSecond: SelfSigned, device: SelfSigned;
beforeAll(() => {
  dir = scratchDirectory('muster');
  apiFirst = selfSigned(dir, 'api 1');
  apiSecond = selfSigned(dir, 'api 2');
  device = selfSigned(dir, 'device');
});
afterAll(() => rmSync(dir, { recursive: true }));

const files = ({ cert, key }: SelfSigned): Record<string, string> => ({ 'tls.crt': cert, 'tls.key': key });

let clock: FakeClock;
let apiSecret: MountedSecret;
let muster: Muster;
let count = 0;
beforeEach(async () => {
  clock = new FakeClock(Date.now());
  const mount = join(dir, `mounts-${(count += 1)}`);
  apiSecret = new MountedSecret(join(mount, 'api'), files(apiFirst));
  const deviceSecret = new MountedSecret(join(mount, 'device'), files(device));
  muster = await Muster.start({
    clock,
    env: {
      MUSTER_API_TLS_CERT_FILE: apiSecret.path('tls.crt'),
      MUSTER_API_TLS_KEY_FILE: apiSecret.path('tls.key'),
      MUSTER_DEVICE_TLS_CERT_FILE: deviceSecret.path('tls.crt'),
      MUSTER_DEVICE_TLS_KEY_FILE: deviceSecret.path('tls.key'),
    },
  });
});
afterEach(() => muster[Symbol.asyncDispose]());

const api = (ca: SelfSigned, more: { token?: string; agent?: Agent } = {}): ReturnType<typeof secureCall> =>
  secureCall(`${muster.api}/v1/apps`, { ca: ca.cert, ...more });

/** Once the second certificate is: the files are read again every so often. */
const presented = (): Promise<void> =>
  until(async () => {
    clock.advance(FILES_EVERY_MS);
    return await api(apiSecond).then(
      ({ shown }) => shown === 'api 2',
      () => false,
    );
  });

async function secureRaw(url: string, ca: SelfSigned): Promise<RawConnection> {
  const socket = connectTls({ port: Number(new URL(url).port), host: '127.0.0.1', ca: ca.cert });
  await once(socket, 'secureConnect');
  return new RawConnection(socket);
}

describe('the API and the devices are served by HTTPS, each with its own certificate', () => {
  test('from an app to an enrolled daemon that polls', async () => {
    const { apiKey } = await tenant(muster);
    const created = await secureCall(`${muster.api}/v1/apps`, { ca: apiFirst.cert, method: 'POST', token: apiKey });
    expect([created.status, created.shown]).toEqual([201, 'api 1']);
    const { appId, enrollCode } = JSON.parse(created.body) as Record<string, string>;
    const enrolled = await secureCall(`${muster.device}/device/v1/enroll`, {
      ca: device.cert,
      method: 'POST',
      body: { appId, enrollCode, connection: 'cloud' },
    });
    expect([enrolled.status, enrolled.shown]).toEqual([200, 'device']);
    const { credential } = JSON.parse(enrolled.body) as { credential: string };
    const polled = await secureCall(`${muster.device}/device/v1/config`, { ca: device.cert, token: credential });
    expect(polled.status).toBe(200);
  });

  test('and not by HTTP, while the ops listener is', async () => {
    expect(await (await fetch(`${muster.api}/v1/apps`)).text()).toContain('This port speaks HTTPS: use https://.');
    expect((await call(`${muster.ops}/livez`)).status).toBe(200);
    expect((await api(apiFirst)).status).toBe(401);
  });

  test('a client that trusts somebody else ends the handshake, and the next one is served', async () => {
    await expect(api(device)).rejects.toThrow('self-signed certificate');
    expect((await api(apiFirst)).status).toBe(401);
  });

  test('bytes inside of it that are not HTTP are answered with the JSON error body', async () => {
    await using client = await secureRaw(muster.api, apiFirst);
    await client.send('GARBAGE\r\n\r\n');
    const answer = await client.answer();
    expect([answer.status, answer.body]).toEqual([404, expect.stringContaining('"not_found"')]);
  });

  test('the metrics have the expiry of each', async () => {
    const { text } = await call(`${muster.ops}/metrics`);
    const told = [...text.matchAll(/^muster_certificate_expiry_timestamp_seconds\{file="(\w+)"\} (\d+)$/gm)];
    expect(new Set(told.map(([, file]) => file))).toEqual(
      new Set(['MUSTER_API_TLS_CERT_FILE', 'MUSTER_DEVICE_TLS_CERT_FILE']),
    );
    for (const [, , at] of told) expect(Number(at)).toBeGreaterThan(Date.now() / 1000);
  });
});

describe('a renewed certificate', () => {
  test('is presented to new connections, without a restart; open connections go on', async () => {
    const { apiKey } = await tenant(muster);
    const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: apiFirst.cert });
    expect((await api(apiFirst, { token: apiKey, agent })).shown).toBe('api 1');
    apiSecret.renew(files(apiSecond));
    await presented();
    const kept = await api(apiFirst, { token: apiKey, agent });
    expect([kept.status, kept.shown]).toEqual([200, 'api 1']);
    agent.destroy();
    await expect(api(apiFirst)).rejects.toThrow('self-signed certificate');
  });

  test('that is none leaves the old one, and is an error in the log', async () => {
    apiSecret.renew({ ...files(apiSecond), 'tls.key': device.key });
    await until(() => {
      clock.advance(FILES_EVERY_MS);
      return muster.logged.some((line) => line.includes('the key is not that of the certificate'));
    });
    expect((await api(apiFirst)).shown).toBe('api 1');
    apiSecret.renew(files(apiSecond));
    await presented();
  });
});

test('it ends with connections that wait, that shake hands, and that never said anything', async () => {
  await using idle = await secureRaw(muster.api, apiFirst);
  await idle.send('GET /v1/apps HTTP/1.1\r\nHost: a\r\n\r\n');
  expect((await idle.answer()).status).toBe(401);
  await using fresh = await secureRaw(muster.api, apiFirst);
  const silent = connectTcp(Number(new URL(muster.api).port), '127.0.0.1');
  await once(silent, 'connect');
  const gone = Promise.all([idle.socket, fresh.socket, silent].map((socket) => once(socket, 'close')));
  silent.resume();
  await muster.service.stop();
  await gone;
});
