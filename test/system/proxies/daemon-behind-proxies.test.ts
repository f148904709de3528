import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/time/clock.ts';
import { startAgent, type AgentPlan } from '../../support/cli/agent.ts';
import { LossyProxy } from '../../support/http/lossy-proxy.ts';
import { findProxy, startProxy, type ProxyName } from '../../support/http/real-proxies.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { freePorts } from '../../support/service/free-ports.ts';
import { setOtel } from '../../support/service/daemon.ts';
import { createApp, Muster, tenant } from '../../support/service/muster.ts';
import { until } from '../../support/time/until.ts';

/*
 * The reference daemon behind nginx and Apache, which compress answers, change or drop headers, and wait for a while.
 */

let muster: Muster;
let root: string;
beforeAll(async () => {
  muster = await Muster.start();
  root = scratchDirectory('proxies');
});
afterAll(async () => {
  await muster[Symbol.asyncDispose]();
  rmSync(root, { recursive: true, force: true });
});

interface Way {
  readonly readSeconds?: number;
  readonly more?: string;
}

const POLL = '/device/v1/config';
const LONG_SECONDS = 70;

describe.each<[ProxyName, RegExp, string]>([
  ['nginx', /^W\/"[^"]+"$/, 'proxy_hide_header ETag; proxy_hide_header Retry-After;'],
  ['apache2', /^"[^"]+-gzip"$/, 'Header unset ETag\nHeader unset Retry-After'],
])('behind %s', (name, changedTag, dropping) => {
  const program = findProxy(name);
  const TITLE = program === undefined ? `it is not installed` : `a daemon`;

  describe.skipIf(program === undefined)(TITLE, () => {
    /** A daemon behind the proxy; what the proxy passes on is seen before the service. */
    async function daemon({ readSeconds = LONG_SECONDS, more = '' }: Way, plan: Partial<AgentPlan> = {}) {
      const { apiKey } = await tenant(muster);
      await using stack = new AsyncDisposableStack();
      const passedOn = stack.use(await LossyProxy.before(muster.device));
      const [port = 0] = await freePorts(1);
      const folder = mkdtempSync(join(root, `${name}-`));
      const proxyPlan = { folder: join(folder, 'proxy'), port, target: passedOn.url, readSeconds, more };
      stack.use(await startProxy(name, program ?? '', proxyPlan));
      const app = await createApp(muster, apiKey);
      const pauses: number[] = [];
      const clock = {
        monotonic: () => systemClock.monotonic(),
        sleep: async (ms: number, signal?: AbortSignal) => {
          pauses.push(ms);
          await systemClock.sleep(Math.min(ms, 100), signal);
        },
      };
      const url = `http://127.0.0.1:${port}`;
      await setOtel(muster, apiKey);
      const agent = stack.use(startAgent({ url, folder, app, surroundings: { clock }, ...plan }));
      const polls = () => passedOn.seen.filter(({ path }) => path === POLL).map(({ headers }) => headers);
      const collector = () => readFileSync(join(folder, 'collector.yaml'), 'utf8');
      const moved = stack.move();
      return { agent, polls, pauses, collector, apiKey, [Symbol.asyncDispose]: () => moved.disposeAsync() };
    }

    test('whose tags it changes has its polls held, and each change at once', async () => {
      await using behind = await daemon({});
      for (const revision of [1, 2, 3]) {
        await until(() => behind.agent.said.includes(`Configuration ${revision} is applied.`));
        await until(() => behind.polls().length === revision + 1);
        const endpoint = `https://after-${revision}.example.com`;
        if (revision < 3) await setOtel(muster, behind.apiKey, { endpoint });
      }
      const tags = behind.polls().map((headers) => headers['if-none-match']);
      expect(tags).toEqual([undefined, ...Array<unknown>(3).fill(expect.stringMatching(changedTag))]);
      expect(behind.collector()).toContain('https://after-2.example.com');
      expect(behind.pauses).toEqual([]);
      expect(behind.agent.said).toHaveLength(4);
    });

    test('whose tags it drops has each change after its interval', async () => {
      await using behind = await daemon({ more: dropping });
      await until(() => behind.agent.said.includes('Configuration 1 is applied.'));
      await until(() => behind.pauses.length > 0);
      await setOtel(muster, behind.apiKey, { endpoint: 'https://second.example.com' });
      await until(() => behind.agent.said.includes('Configuration 2 is applied.'));
      expect(behind.collector()).toContain('https://second.example.com');
      await until(() => behind.pauses.length > 1);
      expect(Math.min(...behind.pauses)).toBeGreaterThanOrEqual(30_000);
      expect(behind.agent.said).toHaveLength(3);
    });

    test('whose polls it cuts after 2 s asks for less from the second time on, and says nothing of it', async () => {
      await using behind = await daemon({ readSeconds: 2 });
      await until(() => behind.polls().length > 3);
      const asked = behind.polls().map(({ prefer }) => prefer);
      expect(asked.slice(0, 4)).toEqual(['wait=50', 'wait=50', 'wait=50', undefined]);
      await setOtel(muster, behind.apiKey, { endpoint: 'https://second.example.com' });
      await until(() => behind.agent.said.includes('Configuration 2 is applied.'));
      expect(behind.agent.said).toHaveLength(3);
    });
  });
});

const nginx = findProxy('nginx');
test.skipIf(nginx === undefined)('nginx that wants a password ends no daemon, and costs it nothing', async () => {
  const { apiKey } = await tenant(muster);
  await setOtel(muster, apiKey);
  const app = await createApp(muster, apiKey);
  const folder = mkdtempSync(join(root, 'password-'));
  const file = (name: string): string => readFileSync(join(folder, name), 'utf8');
  await startAgent({ url: muster.device, folder, app, once: true }).ended;
  const [credential, collector] = [file('credential'), file('collector.yaml')];
  const [port = 0] = await freePorts(1);
  const more = `auth_basic "closed"; auth_basic_user_file ${folder}/nobody;`;
  const plan = { folder: join(folder, 'proxy'), port, target: muster.device, readSeconds: LONG_SECONDS, more };
  await using _ = await startProxy('nginx', nginx ?? '', plan);
  await using agent = startAgent({ url: `http://127.0.0.1:${port}`, folder, app: undefined });
  await until(() => agent.said.length > 0);
  expect(agent.said).toEqual([expect.stringContaining("The answer is 401, and not one of Muster's. (401 bad_answer)")]);
  expect([file('credential'), file('collector.yaml')]).toEqual([credential, collector]);
});
