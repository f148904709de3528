import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, inject, test } from 'vitest';
import { guard } from '../support/run/guard.ts';
import { COMPILED } from '../support/service/compiled.ts';
import { metric, revoke } from '../support/service/daemon.ts';
import { call, Muster, OPERATOR_TOKEN, tenant } from '../support/service/muster.ts';
import { until } from '../support/time/until.ts';

/* `npm run fleet`, as a program of its own. */

const MAIN = join(import.meta.dirname, '../../fleet/main.ts');

interface Fleet extends AsyncDisposable {
  readonly output: () => string;
  until(part: RegExp): Promise<void>;
  /** @returns the exit code */
  interrupt(): Promise<number | null>;
  ended(): Promise<number | null>;
}

function start(args: readonly string[], env: Record<string, string> = {}): Fleet {
  const child = spawn(process.execPath, [MAIN, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...COMPILED, PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
  });
  guard(child);
  const exited = once(child, 'exit');
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (output += piece));
  const ended = async (): Promise<number | null> => {
    await exited;
    return child.exitCode;
  };
  return {
    output: () => output,
    ended,
    async until(part) {
      while (output.search(part) < 0) {
        await Promise.race([
          once(child.stdout, 'data'),
          exited.then(() => Promise.reject(new Error(`it ended:\n${output}`))),
        ]);
      }
    },
    interrupt() {
      // The terminal's signal, and npm's.
      child.kill('SIGINT');
      child.kill('SIGINT');
      return ended();
    },
    async [Symbol.asyncDispose]() {
      if (child.kill('SIGKILL')) await exited;
    },
  };
}

const at = ({ api, device, ops }: Muster): string[] => ['--api', api, '--device', device, '--ops', ops];

describe.each(['sqlite', 'etcd'])('a fleet with a service of its own on %s', (store) => {
  test.skipIf(store === 'etcd' && inject('etcd') === undefined)(
    'enrolls, polls until it is stopped, and tells what came of it',
    async () => {
      await using fleet = start(['--store', store, '--devices', '25', '--interval', '1s']);
      await fleet.until(/ms · .*25 × 200/);
      await fleet.until(/ms · .*[1-9]\d* × 304/);
      expect(await fleet.interrupt()).toBe(0);
      const output = fleet.output();
      expect(output).toMatch(/^devices +25 enrolled in 1 accounts, \d+\/s; 0 failed$/m);
      expect(output).toMatch(/^answers +(?:25 × 200, \d+ × 304|\d+ × 304, 25 × 200)$/m);
      expect(output).toMatch(/^refusals +none$/m);
      expect(output).toMatch(/^store +[\d.e+]+ requests per device-hour by the service, [\d.e+]+ of them heartbeats$/m);
      expect(output).toMatch(/^memory +\d+ MiB resident/m);
      expect(/^etcd +[\d.e+]+ requests per device-hour/m.test(output)).toBe(store === 'etcd');
    },
  );
});

test('given a duration, it ends by itself', async () => {
  await using fleet = start(['--devices', '5', '--interval', '1s', '--duration', '1s']);
  expect(await fleet.ended()).toBe(0);
  expect(fleet.output()).toMatch(/^devices +5 enrolled in 1 accounts/m);
  expect(fleet.output()).toMatch(/^polls +\d+ in [1-9]\d* s/m);
});

test('with a running service: its report is true, a revoked daemon polls no more, and Ctrl-C ends it', async () => {
  await using muster = await Muster.start({ env: { MUSTER_POLL_INTERVAL_SECONDS: '1' } });
  await using fleet = start(['--devices', '20', '--interval', '1s', ...at(muster)], {
    MUSTER_CLIENT_OPERATOR_TOKEN: OPERATOR_TOKEN,
  });
  await fleet.until(/20 are enrolled/);
  expect(await metric(muster, 'muster_apps')).toBe(20);
  expect(await metric(muster, 'muster_enrollments_total{result="enrolled"}')).toBe(20);
  const polled = (result: string): Promise<number> => metric(muster, `muster_polls_total{result="${result}"}`);
  await until(async () => (await polled('content')) === 20 && (await polled('not_modified')) > 0);

  const { body } = await call(`${muster.ops}/operator/v1/accounts`, { token: OPERATOR_TOKEN });
  const [account] = body['accounts'] as { accountId: string; name: string }[];
  expect(account?.name).toBe('fleet 1');
  const rollout = `${muster.ops}/operator/v1/accounts/${account?.accountId}/rollout`;
  await until(async () => {
    const { body } = await call(rollout, { token: OPERATOR_TOKEN });
    return isDeepStrictEqual(body['acknowledged'], [{ revision: 1, applied: 20, failed: 0 }]);
  });
  const keys = `${muster.ops}/operator/v1/accounts/${account?.accountId}/api-keys`;
  const apiKey = String((await call(keys, { method: 'POST', token: OPERATOR_TOKEN })).body['apiKey']);
  const { apps } = (await call(`${muster.api}/v1/apps`, { token: apiKey })).body as { apps: { appId: string }[] };
  await revoke(muster, apiKey, apps[0]?.appId ?? '');
  await until(async () => (await polled('invalid_credential')) === 1);

  expect(await fleet.interrupt()).toBe(0);
  expect(fleet.output()).toMatch(/^devices +20 enrolled in 1 accounts/m);
  expect(fleet.output()).toMatch(/^refusals +1 × 401$/m);
  expect(await polled('invalid_credential')).toBe(1);
});

test('Ctrl-C while it enrolls ends it with the daemons so far', async () => {
  await using muster = await Muster.start();
  await using fleet = start(['--devices', '20000', ...at(muster)], { MUSTER_CLIENT_OPERATOR_TOKEN: OPERATOR_TOKEN });
  await until(async () => (await metric(muster, 'muster_apps')) > 0);
  expect(await fleet.interrupt()).toBe(0);
  expect(fleet.output()).toMatch(/^devices +\d+ enrolled in \d+ accounts, \d+\/s; \d+ failed$/m);
  expect(fleet.output()).toMatch(/^polls +0 in 0 s/m);
  // Nothing that was acknowledged is lost, and the service is not the worse for it.
  expect((await tenant(muster)).apiKey).toMatch(/^mst_live_/);
});

test('wrong usage: exit code 2, in words', async () => {
  const child = spawn(process.execPath, [MAIN, '--store', 'redis'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...COMPILED },
  });
  const exited = once(child, 'exit');
  expect(await text(child.stderr)).toMatch(/sqlite, etcd/);
  await exited;
  expect(child.exitCode).toBe(2);
});
