import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OwnerClient } from '#client';
import { samplesOf } from '../../../src/cli/connection/exposition.ts';
import { savedCodes } from '../../support/cli/saved-codes.ts';
import { LossyProxy } from '../../support/http/lossy-proxy.ts';
import { musterCommand, musterProcess, ownedBy } from '../../support/service/muster-command.ts';
import { call, enroll, Muster, tenant, type Tenant } from '../../support/service/muster.ts';
import { until } from '../../support/time/until.ts';

/*
 * 300 apps through a proxy that loses one answer in twenty after the request was carried out, as someone does it who
 * automates: by the command with a CSV, by the command that is killed and goes on, and by the client. All at once, on
 * an account each, at the account's own pace.
 */

const COUNT = 300;
const NAMES = Array.from({ length: COUNT }, (_, at) => `edge, site ${at + 1}`);

let muster: Muster;
let root: string;
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'muster-bulk-'));
  writeFileSync(join(root, 'sites.csv'), `site,name\r\n${NAMES.map((name, at) => `${at},"${name}"`).join('\r\n')}\r\n`);
  muster = await Muster.start();
});
afterAll(async () => {
  await muster[Symbol.asyncDispose]();
  rmSync(root, { recursive: true });
});

/** An account, before it the proxy. */
async function behindProxy(seed: number): Promise<{ owner: Tenant; proxy: LossyProxy; env: Record<string, string> }> {
  const owner = await tenant(muster);
  const proxy = await LossyProxy.before(muster.api, seed);
  proxy.odds = { lost: 0.05 };
  return { owner, proxy, env: ownedBy({ api: proxy.url }, owner.apiKey) };
}

interface Coded {
  readonly name: string;
  readonly appId: string;
  readonly enrollCode: string;
}

/** Every name is there once, its code is the one that was saved, and none was refused for the rate. */
async function expectWhole({ owner, proxy }: { owner: Tenant; proxy: LossyProxy }, coded: readonly Coded[]) {
  const { body } = await call(`${muster.api}/v1/apps`, { token: owner.apiKey });
  const apps = body['apps'] as readonly Coded[];
  expect(apps.map(({ name }) => name).toSorted()).toEqual(NAMES.toSorted());
  const ids = new Map(apps.map(({ name, appId }) => [name, appId]));
  expect(new Map(coded.map(({ name, appId }) => [name, appId]))).toEqual(ids);
  expect(coded).toHaveLength(COUNT);
  for (const app of coded) expect(await enroll(muster, app)).toMatch(/^mst_dev_/);
  expect(proxy.count('lost')).toBeGreaterThan(0);
  const { text } = await call(`${muster.ops}/metrics`);
  const requests = samplesOf(text).filter(({ name }) => name === 'muster_http_request_duration_seconds_count');
  const counted = (status: string): number =>
    requests.filter(({ labels }) => labels.get('status') === status).reduce((sum, { value }) => sum + value, 0);
  expect(counted('201')).toBeGreaterThanOrEqual(COUNT);
  expect(counted('429')).toBe(0);
}

describe.concurrent('300 apps through a proxy that loses one answer in twenty', () => {
  test('by the command, from a CSV', async () => {
    const behind = await behindProxy(1);
    await using proxy = behind.proxy;
    const codes = join(root, 'plain');
    const args = ['apps', 'create', '--from', join(root, 'sites.csv'), '--save-codes', codes, '-o', 'id'];
    const { code, stdout, stderr } = await musterCommand(args, behind.env);
    expect([code, stderr]).toEqual([0, `The codes are in ${codes}.\n${COUNT} apps created.\n`]);
    expect(stdout.trimEnd().split('\n')).toHaveLength(COUNT);
    expect(readdirSync(root)).not.toContain('plain.resume');
    await expectWhole({ ...behind, proxy }, savedCodes(codes));
  });

  test('by the command, killed twice, with --resume', async () => {
    const behind = await behindProxy(2);
    await using proxy = behind.proxy;
    const codes = join(root, 'killed');
    let args = ['apps', 'create', '--from', join(root, 'sites.csv'), '--save-codes', codes];
    for (const requests of [60, 200]) {
      const { child, ended } = musterProcess(args, behind.env);
      await until(() => proxy.seen.length >= requests);
      child.kill('SIGKILL');
      expect((await ended).code).toBe('SIGKILL');
      args = ['apps', 'create', '--resume', `${codes}.resume`];
    }
    const { code, stderr } = await musterCommand(args, behind.env);
    expect([code, stderr]).toEqual([0, expect.stringContaining(`${COUNT} apps created.`)]);
    await expectWhole({ ...behind, proxy }, savedCodes(codes));
  });

  test('by the client for TypeScript', async () => {
    const behind = await behindProxy(3);
    await using proxy = behind.proxy;
    const client = new OwnerClient({ url: proxy.url, apiKey: behind.owner.apiKey });
    const created = await Promise.all(NAMES.map((name) => client.createApp({ name })));
    await expectWhole({ ...behind, proxy }, created);
  });
});
