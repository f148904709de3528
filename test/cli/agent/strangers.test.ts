import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/time/clock.ts';
import { startAgent, type AgentPlan, type StartedAgent } from '../../support/cli/agent.ts';
import { STRANGERS } from '../../support/cli/strangers.ts';
import { LossyProxy, type StrangersAnswer } from '../../support/http/lossy-proxy.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { readApp, setOtel } from '../../support/service/daemon.ts';
import { createApp, Muster, tenant, type CreatedApp, type Tenant } from '../../support/service/muster.ts';
import { asOperator } from '../../support/service/v1.ts';
import { until } from '../../support/time/until.ts';

/* The reference daemon behind proxies and portals: nothing that a stranger answers ends it, or costs it what it has. */

let muster: Muster;
let root: string;
let owner: Tenant;
let app: CreatedApp;
let folder: string;
let proxy: LossyProxy;
beforeAll(async () => {
  muster = await Muster.start();
  root = scratchDirectory('strangers');
});
afterAll(async () => {
  await muster[Symbol.asyncDispose]();
  rmSync(root, { recursive: true, force: true });
});
beforeEach(async () => {
  owner = await tenant(muster);
  app = await createApp(muster, owner.apiKey);
  folder = mkdtempSync(join(root, 'daemon-'));
  const before = await LossyProxy.before(muster.device);
  onTestFinished(() => before[Symbol.asyncDispose]());
  proxy = before;
});

const file = (name: string): string => readFileSync(join(folder, name), 'utf8');
/** Each pause of the daemon is over at once. */
const clock = {
  monotonic: () => systemClock.monotonic(),
  sleep: (_ms: number, signal?: AbortSignal) => systemClock.sleep(1, signal),
};
const start = (plan: Partial<AgentPlan> = {}): StartedAgent =>
  startAgent({ url: proxy.url, folder, app, surroundings: { clock }, ...plan });
const configure = (more?: object) => setOtel(muster, owner.apiKey, more);
const applied = (revision: number): Promise<void> =>
  until(async () => {
    const { body } = await asOperator(muster)(`GET /accounts/${owner.accountId}/rollout`);
    return body['revision'] === revision && body['applied'] === 1;
  });

/** A stranger answers so many requests to such paths, after those that the service answers. */
function strangerAt(path: string, answer: StrangersAnswer, times: number, after = 0): void {
  let asked = 0;
  proxy.stranger = ({ url }) => {
    if (url !== path) return undefined;
    asked += 1;
    return asked > after && asked <= after + times ? answer : undefined;
  };
}

const ALL = Object.entries(STRANGERS);
const [CONFIG, ACK, ENROLL] = ['/device/v1/config', '/device/v1/config/ack', '/device/v1/enroll'] as const;

describe('a poll', () => {
  // Behind a tag of its own, a 304 says that nothing has changed.
  test.each(ALL.filter(([what]) => what !== 'nothing with 304'))(
    'that meets %s is trouble that passes',
    async (_what, answer) => {
      await configure({ authHeader: 'Bearer secret' });
      // The first poll brings the configuration, and the next one would be held. The daemon asks again at once, so the
      // files are read as the first stranger meets them.
      strangerAt(CONFIG, answer, 3, 1);
      const { stranger } = proxy;
      let kept: readonly string[] | undefined;
      proxy.stranger = (request) => {
        const met = stranger?.(request);
        if (met !== undefined) kept ??= [file('credential'), file('collector.yaml')];
        return met;
      };
      await using agent = start();
      await applied(1);
      await until(() => proxy.count('stranger') === 3);
      expect([file('credential'), file('collector.yaml')]).toEqual(kept);
      const [credential, config] = kept ?? [];
      expect(config).toContain('Bearer secret');
      await configure({ endpoint: 'https://second.example.com' });
      await applied(2);
      expect(file('credential')).toBe(credential);
      expect(file('collector.yaml')).toContain('https://second.example.com');
      expect(agent.said.slice(2)).toEqual([
        expect.stringMatching(
          /^The service does not answer: .+ \((?:\d+ [a-z_]+|network)\) The daemon goes on with what it has\.$/,
        ),
        'The service answers again.',
        'Configuration 2 is applied.',
      ]);
      expect(agent.said.join()).not.toMatch(/refuses|remove/);
    },
  );

  test('with `once` fails, and is no refusal', async () => {
    await start({ once: true }).ended;
    strangerAt(CONFIG, STRANGERS['the 401 of a proxy that wants a password'] ?? { status: 401 }, 1);
    await expect(start({ once: true }).ended).rejects.toMatchObject({
      kind: 'failed',
      message: "The answer is 401, and not one of Muster's. (401 bad_answer)",
    });
  });
});

describe('an enrollment', () => {
  test.each(ALL)('that meets %s goes on, and burns neither code nor credential', async (_what, answer) => {
    strangerAt(ENROLL, answer, 2);
    await using agent = start();
    await until(() => proxy.count('stranger') === 2);
    const { credential } = JSON.parse(file('credential')) as { credential: string };
    await until(async () => (await readApp(muster, owner.apiKey, app.appId))['status'] === 'active');
    await until(() => agent.said.includes(`Enrolled as ${app.appId}.`));
    expect(JSON.parse(file('credential'))).toEqual({ appId: app.appId, credential, enrolled: true });
    // The client itself sends it again after a 407, of which \`fetch\` tells nothing.
    if (answer.status !== 407)
      expect(agent.said[0]).toMatch(/^The enrollment has no answer yet: .+ \(\d+ [a-z_]+\) Trying /);
  });
});

describe('an acknowledgement', () => {
  test.each(ALL.filter(([what]) => what !== 'nothing with 204'))(
    'that meets %s is sent again',
    async (_what, answer) => {
      await configure();
      strangerAt(ACK, answer, 2);
      await using agent = start();
      await applied(1);
      expect(proxy.count('stranger')).toBe(2);
      expect(agent.said.filter((text) => text.startsWith('The acknowledgement is not taken'))).toHaveLength(1);
    },
  );

  test('that a proxy leads to another listener for a moment is sent again', async () => {
    await configure();
    const body = '{"error":{"code":"not_found","message":"No such endpoint here."}}';
    strangerAt(ACK, { status: 404, headers: { 'content-type': 'application/json' }, body }, 1);
    await using agent = start();
    await applied(1);
    expect(agent.said).toContainEqual(
      expect.stringMatching(/^The acknowledgement is not taken: .* \(404 not_found\)$/),
    );
  });
});

test.each([
  [['etag'], 'the tag'],
  [['etag', 'retry-after', 'cache-control', 'x-request-id'], 'all that can be dropped'],
])('a proxy that drops %j costs it held polls alone (%s)', async (dropped) => {
  proxy.header = (name, value) => (dropped.includes(name) ? undefined : value);
  const pauses: number[] = [];
  const clock = {
    monotonic: () => systemClock.monotonic(),
    // The interval is over as soon as there is a change to be found.
    sleep: async (ms: number, signal?: AbortSignal) => {
      pauses.push(ms);
      await systemClock.sleep(1, signal);
    },
  };
  await configure();
  await using agent = start({ surroundings: { clock } });
  await applied(1);
  // Two changes in a row that come unheld have a short pause of their own.
  await until(() => pauses.length > 0);
  await configure({ endpoint: 'https://second.example.com' });
  await applied(2);
  await until(() => pauses.length > 2);
  expect(file('collector.yaml')).toContain('https://second.example.com');
  expect(agent.said.slice(1)).toEqual(['Configuration 1 is applied.', 'Configuration 2 is applied.']);
  // The service spreads its interval of 60 s.
  expect(Math.min(...pauses)).toBeGreaterThanOrEqual(30_000);
});
