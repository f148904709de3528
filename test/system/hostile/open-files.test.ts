import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectRaw, exchange, type RawConnection } from '../../support/http/raw-http.ts';
import { connectedTo, musterHere, withOpenFiles } from '../../support/service/muster-command.ts';
import { MusterProcess } from '../../support/service/muster-process.ts';
import { call, createApp, enroll, poll, tenant } from '../../support/service/muster.ts';

/* A service whose process may have few files open, and clients that would take all of them. */

const OPEN_MAX = 200;
const HALF_HEADS = 400;
const HELD = 90;

describe.skipIf(process.platform !== 'linux')(`with ${OPEN_MAX} open files`, () => {
  let dataDir: string;
  let muster: MusterProcess;
  let apiKey: string;
  let credential: string;
  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'muster-'));
    muster = await MusterProcess.start({ MUSTER_DATA_DIR: dataDir }, undefined, withOpenFiles(OPEN_MAX));
    ({ apiKey } = await tenant(muster));
    credential = await enroll(muster, await createApp(muster, apiKey));
  });
  afterAll(async () => {
    await muster[Symbol.asyncDispose]();
    rmSync(dataDir, { recursive: true, force: true });
  });
  const port = (name: 'api' | 'device' | 'ops' | 'panel'): number => Number(new URL(muster[name]).port);

  /** The statuses that newcomers get, each on a connection of its own. */
  const newcomers = async (): Promise<Record<string, number>> => {
    const get = async (name: Parameters<typeof port>[0], path: string, token = ''): Promise<number> => {
      const bearer = token === '' ? '' : `Authorization: Bearer ${token}\r\n`;
      return (await exchange(port(name), `GET ${path} HTTP/1.1\r\nHost: localhost:${port(name)}\r\n${bearer}\r\n`))
        .status;
    };
    return {
      api: await get('api', '/v1/apps', apiKey),
      device: await get('device', '/device/v1/config', credential),
      livez: await get('ops', '/livez'),
      readyz: await get('ops', '/readyz'),
      metrics: await get('ops', '/metrics'),
      panel: await get('panel', '/'),
    };
  };
  const SERVED = { api: 200, device: 200, livez: 200, readyz: 200, metrics: 200, panel: 200 };

  test('the start says how many connections that leaves', () => {
    const lines = muster.logged.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.find(({ msg }) => msg === 'muster is listening')).toMatchObject({
      openFilesMax: OPEN_MAX,
      connections: { api: 17, device: 85, ops: 17, panel: 17 },
    });
    expect(lines.find(({ msg }) => String(msg).startsWith('the limit of open files'))).toMatchObject({
      level: 'warn',
      msg: 'the limit of open files leaves fewer connections: 17 of 10000 for api, 85 of 100000 for device, 17 of 1000 for ops, 17 of 5000 for panel',
      enough: 123_734,
    });
  });

  test('muster doctor says so of the service, whatever its own limit is', async () => {
    const { stdout } = await musterHere(['doctor', '--running'], { ...connectedTo(muster), MUSTER_DATA_DIR: dataDir });
    expect(stdout).toMatch(
      /^warn {2}open files +the limit of the service is 200, which leaves fewer .*17 of 1000 for ops/m,
    );
  });

  test.each(['api', 'device', 'ops', 'panel'] as const)(
    `${HALF_HEADS} half-sent heads at %s shut nobody out, of that listener or another one`,
    async (name) => {
      await using opened = new AsyncDisposableStack();
      for (let sent = 0; sent < HALF_HEADS; sent += 1) {
        const connection = opened.use(await connectRaw(port(name)));
        await connection.send('GET / HTTP/1.1\r\nHost: a\r\nX-');
      }
      expect(await newcomers()).toEqual(SERVED);
    },
  );

  test('half-sent heads at every listener at once shut nobody out', async () => {
    await using opened = new AsyncDisposableStack();
    for (let sent = 0; sent < HALF_HEADS; sent += 1) {
      for (const name of ['api', 'device', 'ops', 'panel'] as const) {
        await opened.use(await connectRaw(port(name))).send('GET / HTTP/1.1\r\nHost: a\r\nX-');
      }
    }
    expect(await newcomers()).toEqual(SERVED);
  });

  test('daemons that hold their polls leave room for others', async () => {
    await using opened = new AsyncDisposableStack();
    const held: RawConnection[] = [];
    for (let count = 0; count < HELD; count += 1) {
      const own = await enroll(muster, await createApp(muster, apiKey, `daemon ${count}`));
      const etag = (await poll(muster, own)).headers.get('etag') ?? '';
      const connection = opened.use(await connectRaw(port('device')));
      const fields = [`Authorization: Bearer ${own}`, `If-None-Match: ${etag}`, 'Prefer: wait=50'];
      await connection.send(`GET /device/v1/config HTTP/1.1\r\nHost: a\r\n${fields.join('\r\n')}\r\n\r\n`);
      held.push(connection);
    }
    expect(await newcomers()).toEqual(SERVED);
    const { text } = await call(`${muster.ops}/metrics`);
    expect(text).toMatch(/^muster_held_polls (?:2\d|3\d|4[0-2])$/m);
  });
});
