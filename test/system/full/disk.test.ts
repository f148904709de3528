import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { MusterProcess } from '../../support/service/muster-process.ts';
import { call, createApp, enroll, poll, tenant, type Answer } from '../../support/service/muster.ts';
import { LastingDisk, onSmallDisk, SmallDisk, whyNoSmallDisk } from './small-disk.ts';
import { times } from '../../support/service/v1.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { until } from '../../support/time/until.ts';

const missing = whyNoSmallDisk();
const title = `A12: an embedded store on a full disk${missing === undefined ? '' : ` [skipped: ${missing}]`}`;

const DISK_BYTES = 8 * 1024 * 1024;
const OWNERS = 20;
const REVOCATIONS = 1000;
const AT_ONCE = 16;

async function valueOf({ ops }: MusterProcess, series: string): Promise<number> {
  const { text } = await call(`${ops}/metrics`);
  return Number(new RegExp(`^${series} (\\S+)$`, 'm').exec(text)?.[1]);
}

describe.skipIf(missing !== undefined)(title, () => {
  test('owners fill it, then a stranger takes the rest: 1,000 revocations are 200, and room that is made is used', async () => {
    const directory = scratchDirectory('small-disk');
    await using muster = await MusterProcess.start(
      { MUSTER_DATA_DIR: directory },
      undefined,
      onSmallDisk(directory, DISK_BYTES),
    );
    const disk = new SmallDisk(muster.pid, directory);
    const reserve = join(disk.path, 'muster.db-reserve');
    expect(existsSync(reserve)).toBe(true);
    const owners = await times(OWNERS, AT_ONCE, () => tenant(muster));
    const spare = await tenant(muster);
    const keyOf = (number: number): string => owners[number % OWNERS]?.apiKey ?? expect.unreachable();
    const daemon = await createApp(muster, keyOf(0));
    const credential = await enroll(muster, daemon);
    const create = (number: number): Promise<Answer> =>
      call(`${muster.api}/v1/apps`, { method: 'POST', token: keyOf(number), body: { name: 'n'.repeat(100) } });
    const revoke = async (appId: string, number: number): Promise<number> =>
      (await call(`${muster.api}/v1/apps/${appId}/revoke`, { method: 'POST', token: keyOf(number) })).status;

    const apps: { readonly appId: string; readonly owner: number }[] = [];
    for (let refused = 0, from = 0; refused < 100; from += AT_ONCE) {
      const answers = await times(AT_ONCE, AT_ONCE, (number) => create(from + number));
      for (const [index, { status, body }] of answers.entries()) {
        if (status === 201) apps.push({ appId: String(body['appId']), owner: from + index });
        else refused += 1;
      }
    }
    expect(apps.length).toBeGreaterThan(REVOCATIONS);
    expect(existsSync(reserve), 'the reserve is not for owners').toBe(true);
    const revokeSome = async (from: number, count: number): Promise<Set<number>> =>
      new Set(
        await times(count, AT_ONCE, async (number) => {
          const { appId, owner } = apps[from + number] ?? expect.unreachable();
          return await revoke(appId, owner);
        }),
      );
    expect(await revokeSome(0, REVOCATIONS / 2)).toEqual(new Set([200]));

    disk.fill();
    expect(await revokeSome(REVOCATIONS / 2, REVOCATIONS / 2)).toEqual(new Set([200]));
    expect(await revoke(daemon.appId, 0)).toBe(200);
    expect((await poll(muster, credential)).status).toBe(401);
    expect((await create(0)).status).toBe(502);
    expect(await call(`${muster.ops}/readyz`)).toMatchObject({
      status: 200,
      body: { degraded: expect.stringContaining('full') as string },
    });

    // Deletions alone would do only where they leave more than the reserve: the file keeps its free pages.
    disk.enlarge(4 * DISK_BYTES);
    await until(() => existsSync(reserve));
    await until(
      async () => (await call(`${muster.api}/v1/apps`, { method: 'POST', token: spare.apiKey })).status === 201,
    );
    await until(async () => !('degraded' in (await call(`${muster.ops}/readyz`)).body));
    expect(await muster.end('SIGTERM')).toBe(0);
  });

  test('a stranger fills it while Muster is down: it starts, answers, and revokes; with room it takes what is new', async () => {
    const directory = scratchDirectory('small-disk');
    await using lasting = await LastingDisk.make(directory, DISK_BYTES);
    const { disk, under } = lasting;
    const start = (): Promise<MusterProcess> => MusterProcess.start({ MUSTER_DATA_DIR: directory }, undefined, under);
    const reserve = join(disk.path, 'muster.db-reserve');
    const create = async ({ api }: MusterProcess): Promise<number> =>
      (await call(`${api}/v1/apps`, { method: 'POST', token: owner.apiKey })).status;

    const before = await start();
    const owner = await tenant(before);
    const [app, other] = [await createApp(before, owner.apiKey), await createApp(before, owner.apiKey)];
    const credential = await enroll(before, app);
    expect(await before.end('SIGKILL')).toBe('SIGKILL');

    // As after a compaction: the first write of the start needs room for a log.
    lasting.emptyLog('muster.db');
    disk.fill();
    expect(existsSync(reserve)).toBe(true);
    await using full = await start();
    expect(existsSync(reserve), 'what an end by force leaves behind is removed with its room').toBe(false);
    expect(await call(`${full.api}/v1/apps/${other.appId}`, { token: owner.apiKey })).toMatchObject({
      status: 200,
      body: { appId: other.appId, status: 'pending' },
    });
    expect((await poll(full, credential)).status).toBe(200);
    expect(await create(full)).toBe(502);
    expect(await call(`${full.ops}/readyz`)).toMatchObject({
      status: 200,
      body: { status: 'ready', degraded: expect.stringContaining('full') as string },
    });
    const revoked = await call(`${full.api}/v1/apps/${app.appId}/revoke`, { method: 'POST', token: owner.apiKey });
    expect(revoked.status).toBe(200);
    expect((await poll(full, credential)).status).toBe(401);
    expect(await full.end('SIGKILL')).toBe('SIGKILL');

    disk.enlarge(4 * DISK_BYTES);
    await using roomy = await start();
    expect((await poll(roomy, credential)).status).toBe(401);
    expect(await create(roomy)).toBe(201);
    expect((await call(`${roomy.ops}/readyz`)).body).toEqual({ status: 'ready' });
    expect(existsSync(reserve)).toBe(true);
    expect(await roomy.end('SIGTERM')).toBe(0);
  });

  test('not a byte and no reserve is left: it starts and serves daemons, and takes up all else once there is room', async () => {
    const directory = scratchDirectory('small-disk');
    await using lasting = await LastingDisk.make(directory, DISK_BYTES);
    const { disk, under } = lasting;
    const start = (): Promise<MusterProcess> => MusterProcess.start({ MUSTER_DATA_DIR: directory }, undefined, under);
    const before = await start();
    const owner = await tenant(before);
    const app = await createApp(before, owner.apiKey);
    const credential = await enroll(before, app);
    // Its place on the registry and its leadership are left behind.
    await until(async () => (await valueOf(before, 'muster_controller_leading')) === 1);
    expect(await before.end('SIGKILL')).toBe('SIGKILL');
    lasting.emptyLog('muster.db');
    rmSync(join(disk.path, 'muster.db-reserve'));
    disk.fill();

    await using full = await start();
    const read = (): Promise<Answer> => call(`${full.api}/v1/apps/${app.appId}`, { token: owner.apiKey });
    const polled = await poll(full, credential);
    expect(polled.status).toBe(200);
    const ifNoneMatch = { 'if-none-match': polled.headers.get('etag') ?? '' };
    expect((await poll(full, credential, ifNoneMatch)).status).toBe(304);
    expect(await read()).toMatchObject({ status: 502, body: { error: { code: 'upstream_unavailable' } } });
    expect(await call(`${full.ops}/readyz`)).toMatchObject({
      status: 200,
      body: { status: 'ready', degraded: expect.stringContaining('not on the registry') as string },
    });
    expect(await valueOf(full, 'muster_replica_registered')).toBe(0);
    expect(await valueOf(full, 'muster_controller_leading')).toBe(0);

    disk.enlarge(4 * DISK_BYTES);
    await until(async () => (await read()).status === 200);
    await until(async () => (await valueOf(full, 'muster_replica_registered')) === 1);
    await until(async () => (await valueOf(full, 'muster_controller_leading')) === 1);
    expect(await valueOf(full, 'muster_replicas')).toBe(1);
    const revoked = await call(`${full.api}/v1/apps/${app.appId}/revoke`, { method: 'POST', token: owner.apiKey });
    expect(revoked.status).toBe(200);
    expect((await poll(full, credential)).status).toBe(401);
    await until(async () => !('degraded' in (await call(`${full.ops}/readyz`)).body));
    expect(await full.end('SIGTERM')).toBe(0);
  });
});
