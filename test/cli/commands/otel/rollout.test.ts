import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { DeviceClient, OperatorClient, type Rollouts } from '#client';
import { rolloutStatus } from '../../../../src/cli/commands/otel/rollout.ts';
import { invocation } from '../../../../src/cli/terminal/invocation.ts';
import type { Clock } from '../../../../src/time/clock.ts';
import { recordedTerminal } from '../../../support/cli/recorded-terminal.ts';
import { LossyProxy } from '../../../support/http/lossy-proxy.ts';
import { connectedTo, musterHere, ownedBy, type Ended } from '../../../support/service/muster-command.ts';
import { createApp, enroll, Muster, OPERATOR_TOKEN, tenant, type Tenant } from '../../../support/service/muster.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';
import { untilPassing } from '../../../support/time/until-passing.ts';

let muster: Muster;
beforeAll(async () => {
  muster = await Muster.start();
});
afterAll(() => muster[Symbol.asyncDispose]());

let owner: Tenant;
beforeEach(async () => {
  owner = await tenant(muster);
  await musterHere(['otel', 'set', '--endpoint', 'https://otel.example.com'], ownedBy(muster, owner.apiKey));
});

const run = (...args: string[]): Promise<Ended> => musterHere(['rollout', 'status', ...args], connectedTo(muster));
/** A daemon that has enrolled, as its client. */
async function device(): Promise<DeviceClient> {
  const credential = await enroll(muster, await createApp(muster, owner.apiKey));
  return new DeviceClient({ url: muster.device, credential });
}

/** What `--wait` throws, for 300 s at most. @param pauseMs how long a pause between two looks is */
async function waitedFor(
  env: Record<string, string>,
  terminal = recordedTerminal(),
  pauseMs = 300_000,
): Promise<unknown> {
  let now = 0;
  const clock: Clock = { now: () => now, monotonic: () => now, sleep: async () => void (now += pauseMs) };
  const waiting = rolloutStatus(invocation(env, {}, { clock, terminal }), { account: owner.accountId, wait: true });
  return await waiting.catch((error: unknown) => error);
}

test('counts, by id and by name; without an account where there is only one', async () => {
  await using alone = await Muster.start();
  const args = ['rollout', 'status', '-o', 'json'];
  expect(await musterHere(args, connectedTo(alone))).toMatchObject({ code: 4, stdout: '' });
  const { accountId } = await tenant(alone);
  const only = await musterHere(args, connectedTo(alone));
  expect(JSON.parse(only.stdout)).toMatchObject({ accountId, devices: 0 });
  await tenant(alone);
  const several = await musterHere(args, connectedTo(alone));
  expect([several.code, several.stderr]).toEqual([2, expect.stringContaining('say which with --account')]);

  await device();
  const operator = new OperatorClient({ url: muster.ops, token: OPERATOR_TOKEN });
  await operator.changeAccount(owner.accountId, { name: 'acme' });
  const byName = await run('--account', 'acme', '-o', 'json');
  expect(JSON.parse(byName.stdout)).toMatchObject({ accountId: owner.accountId, devices: 1, applied: 0, pending: 1 });
  const table = await run('-a', owner.accountId);
  expect(table).toMatchObject({ code: 0, stderr: '' });
  expect(table.stdout).toMatch(/^ACCOUNT +[a-z0-9]{16}\nREVISION +\d+\nDEVICES +1\nAPPLIED +0\n/);
  expect(await run('-a', 'nobody')).toMatchObject({ code: 4, stdout: '' });
  expect((await run('-a', 'x', '--timeout', '5w')).code).toBe(2);
});

test('--wait ends with 0 when all have applied it, with 3 when one could not, and with 1 when the time is up', async () => {
  const account = ['--account', owner.accountId];
  const [first, second] = [await device(), await device()];
  const late = await waitedFor(connectedTo(muster));
  expect(late).toMatchObject({ exitCode: 1, message: '2 devices are still pending after 300 s.' });

  const { revision } = JSON.parse((await run(...account, '-o', 'json')).stdout) as { revision: number };
  await first.acknowledgeConfig({ revision, status: 'applied' });
  const waiting = run(...account, '--wait', '-o', 'json');
  await second.acknowledgeConfig({ revision, status: 'applied' });
  const applied = await waiting;
  expect([applied.code, JSON.parse(applied.stdout)]).toMatchObject([0, { applied: 2, pending: 0 }]);

  await second.acknowledgeConfig({ revision, status: 'failed', error: 'no \u001b[31mroom' });
  const failed = await run(...account, '--wait');
  expect([failed.code, failed.stderr]).toEqual([
    3,
    expect.stringMatching(/failed at .*: no .*room\n[^]*1 devices could not/),
  ]);
  expect(failed.stderr).not.toContain('\u001b');
  // A script that looks without --wait learns of it as well.
  const looked = await run(...account, '-o', 'json');
  expect([looked.code, JSON.parse(looked.stdout), looked.stderr]).toMatchObject([3, { failed: 1 }, failed.stderr]);
  await second.acknowledgeConfig({ revision, status: 'applied' });
  expect(await run(...account)).toMatchObject({ code: 0, stderr: '' });
});

test('--wait tells what it saw before where the service fails at the last look', async () => {
  await device();
  await using proxy = await LossyProxy.before(muster.ops);
  const looks = () => proxy.seen.filter(({ path }) => path.includes('rollout')).length;
  proxy.fate = () => (looks() === 0 ? 'through' : 502);
  // More than the last look has: the call ends after one attempt.
  proxy.retryAfterSeconds = 61;
  const terminal = recordedTerminal();
  const ended = await waitedFor({ ...connectedTo(muster), MUSTER_CLIENT_OPS_URL: proxy.url }, terminal);
  expect(ended).toMatchObject({ exitCode: 1, message: '1 devices are still pending after 300 s.' });
  expect(terminal.out()).toMatch(/^PENDING +1$/m);
  expect(terminal.err()).toMatch(/The last look failed, .*did not succeed within 2000 ms/);
});

test('--wait does not say that the time is up where the service asks it to come back later than that', async () => {
  await device();
  await using proxy = await LossyProxy.before(muster.ops);
  const looks = () => proxy.seen.filter(({ path }) => path.includes('rollout')).length;
  proxy.fate = () => (looks() === 0 ? 'through' : 503);
  proxy.retryAfterSeconds = 600;
  const ended = await waitedFor({ ...connectedTo(muster), MUSTER_CLIENT_OPS_URL: proxy.url }, recordedTerminal(), 2000);
  expect(ended).toMatchObject({ code: 'timeout', message: expect.stringContaining('503') as string });
});

describe('muster rollout list', () => {
  test('lists the accounts with the most daemons in a state, and says so where there is none', async () => {
    const clock = new FakeClock();
    await using service = await Muster.start({ clock });
    const env = connectedTo(service);
    const { accountId, apiKey } = await tenant(service);
    await musterHere(['otel', 'set', '--endpoint', 'https://otel.example.com'], ownedBy(service, apiKey));
    for (const status of ['failed', 'failed', 'failed', 'applied'] as const) {
      const credential = await enroll(service, await createApp(service, apiKey));
      await new DeviceClient({ url: service.device, credential }).acknowledgeConfig({ revision: 1, status });
    }
    const list = (...args: string[]): Promise<Ended> => musterHere(['rollout', 'list', ...args], env);
    await untilPassing(clock, async () => (await list()).stdout.includes('  4        1       3        0      0'));
    const { countedAt, ...told } = JSON.parse((await list('--by', 'failing', '-o', 'json')).stdout) as Rollouts;
    const counts = { revision: 1, devices: 4, applied: 1, failed: 3, pending: 0, stale: 0 };
    expect(told).toEqual({ failing: 1, accounts: [{ accountId, name: 'tenant', ...counts }] });
    expect(countedAt).toMatch(/^\d{4}-.*Z$/);
    expect((await list()).stdout).toMatch(/^ACCOUNT +REVISION +DEVICES +APPLIED +FAILED +PENDING +STALE\n/);
    expect((await list('-o', 'id', '--top', '1')).stdout).toBe(`${accountId}\n`);
    const none = { code: 0, stdout: '', stderr: 'No account has such daemons.\n' };
    expect(await list('--by', 'stale')).toEqual(none);
  });

  test('says that nobody has counted where no replica leads', async () => {
    await using service = await Muster.start({ env: { MUSTER_ROLES: 'api,device' } });
    expect(await musterHere(['rollout', 'list'], connectedTo(service))).toEqual({
      code: 0,
      stdout: '',
      stderr: 'No leader has counted the rollouts yet.\n',
    });
  });
});
