import process from 'node:process';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { OperatorClient } from '#client';
import { agentSimulate } from '../../../../src/cli/commands/agent/simulate.ts';
import { invocation } from '../../../../src/cli/terminal/invocation.ts';
import type { Terminal } from '../../../../src/cli/terminal/terminal.ts';
import { systemClock, type Clock } from '../../../../src/time/clock.ts';
import { LossyProxy } from '../../../support/http/lossy-proxy.ts';
import { enrollOwn, ownCredential, setOtel } from '../../../support/service/daemon.ts';
import { musterHere, type Ended } from '../../../support/service/muster-command.ts';
import { call, createApp, Muster, OPERATOR_TOKEN, tenant, type Tenant } from '../../../support/service/muster.ts';
import { until } from '../../../support/time/until.ts';

/** A duration that no pause of the simulation has. */
const SECONDS = 777;

let muster: Muster;
let owner: Tenant;
beforeAll(async () => {
  muster = await Muster.start();
});
afterAll(() => muster[Symbol.asyncDispose]());
beforeEach(async () => {
  owner = await tenant(muster);
});

const simulate = (...args: string[]): Promise<Ended> =>
  musterHere(['agent', 'simulate', ...args], {
    MUSTER_CLIENT_URL: muster.api,
    MUSTER_CLIENT_DEVICE_URL: muster.device,
    MUSTER_CLIENT_API_KEY: owner.apiKey,
  });
const apps = async () =>
  (await call(`${muster.api}/v1/apps`, { token: owner.apiKey })).body['apps'] as { name: string; status: string }[];
const config = async () => (await call(`${muster.api}/v1/otel-config`, { token: owner.apiKey })).body;
/** By the operator API, which has no rate that the daemons' own calls would be short of. */
const rollout = () => new OperatorClient({ url: muster.ops, token: OPERATOR_TOKEN }).readRollout(owner.accountId);

test('daemons enroll, receive what is changed and acknowledge it; then the account is as it was', async () => {
  const [before, first] = [await config(), await rollout()];
  const simulating = simulate('--count', '5', '--change-every', '1s', '-o', 'json');
  await until(async () => {
    const { applied, revision } = await rollout();
    return applied === 5 && revision > first.revision;
  });
  process.emit('SIGINT');
  const { code, stdout, stderr } = await simulating;
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringMatching(/^5 daemons poll at .*\n[\s\S]*deleted\.\n$/) as string,
  });
  const summary = JSON.parse(stdout) as Record<string, number>;
  expect(summary).toMatchObject({ daemons: 5, enrolled: 5, failedPolls: 0 });
  // One for each daemon that it finds, and some of the changes.
  expect(summary['received']).toBeGreaterThanOrEqual(5);
  expect(summary['acknowledged']).toBeGreaterThanOrEqual(5);
  expect(await apps()).toEqual([]);
  expect(await config()).toEqual(before);
});

test('agents of OpAMP do the same with the same counters', async () => {
  await setOtel(muster, owner.apiKey);
  const [before, first] = [await config(), await rollout()];
  const opamp = ['--protocol', 'opamp', '--interval', '1s'];
  const simulating = simulate('--count', '5', '--change-every', '1s', ...opamp, '-o', 'json');
  await until(async () => {
    const { applied, revision } = await rollout();
    return applied === 5 && revision > first.revision;
  });
  process.emit('SIGINT');
  const { code, stdout, stderr } = await simulating;
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringMatching(/^5 agents of OpAMP poll at .*\/v1\/opamp; .*\n[\s\S]*deleted\.\n$/) as string,
  });
  const summary = JSON.parse(stdout) as Record<string, number>;
  expect(summary).toMatchObject({ daemons: 5, enrolled: 5, failedPolls: 0, detections: 0 });
  expect(summary['received']).toBeGreaterThanOrEqual(5);
  expect(summary['acknowledged']).toBeGreaterThanOrEqual(5);
  expect([await apps(), await config()]).toEqual([[], before]);
});

test('agents of OpAMP ask where --endpoint says, and enroll at the device listener', async () => {
  await using proxy = await LossyProxy.before(muster.device);
  const args = ['--count', '2', '--duration', '1s', '--protocol', 'opamp', '--endpoint', `${proxy.url}/v1/opamp`];
  expect(await simulate(...args, '--quiet', '-o', 'json')).toMatchObject({ code: 0, stderr: '' });
  expect(new Set(proxy.seen.map(({ path }) => path))).toEqual(new Set(['/v1/opamp']));
  expect(proxy.seen.length).toBeGreaterThanOrEqual(2);
});

test.each(['--interval', '--endpoint'])('%s without OpAMP is wrong usage, and leaves nothing', async (option) => {
  const value = option === '--interval' ? '5s' : 'http://127.0.0.1:1/v1/opamp';
  const { code, stderr } = await simulate('--count', '1', '--duration', '1s', option, value);
  expect(code).toBe(2);
  expect(stderr).toMatch(/are for --protocol opamp/);
  expect(await apps()).toEqual([]);
});

test('a stored configuration is put back, its header included; --keep leaves the apps', async () => {
  await setOtel(muster, owner.apiKey, { authHeader: 'Bearer kept', evidenceLevel: 'full' });
  const before = await config();
  expect(await simulate('--count', '2', '--duration', '2s', '--change-every', '1s', '--keep', '--quiet')).toMatchObject(
    {
      code: 0,
      stderr: '',
    },
  );
  expect(await config()).toEqual(before);
  expect((await apps()).map(({ name }) => name).toSorted()).toEqual([
    expect.stringMatching(/^simulated-[0-9a-f]{8}-1$/),
    expect.stringMatching(/^simulated-[0-9a-f]{8}-2$/),
  ]);
});

test('a change that nobody has answered is told, and the configuration is put back once more', async () => {
  await setOtel(muster, owner.apiKey, { authHeader: 'Bearer kept', evidenceLevel: 'full' });
  const before = await config();
  await using proxy = await LossyProxy.before(muster.api);
  const hung = Promise.withResolvers<void>();
  proxy.hung = () => hung.resolve();
  proxy.fate = ({ method }) => (method === 'PUT' && proxy.count('hung') === 0 ? 'hung' : 'through');
  const sleep: Clock['sleep'] = async (ms, signal) => {
    if (ms === SECONDS * 1000) return await hung.promise;
    // The change is given up at once, and comes through when the service is asked for nothing else any more.
    if (ms === 5000) return undefined;
    if (ms === 10_000) return void (await setOtel(muster, owner.apiKey, { endpoint: 'https://otel-1.example.com' }));
    return await systemClock.sleep(ms, signal);
  };
  const words: string[] = [];
  const screen = { isTTY: false, columns: undefined, colours: false };
  const terminal: Terminal = {
    stdout: { ...screen, write: async () => undefined },
    stderr: { ...screen, write: async (text) => void words.push(text) },
    ask: undefined,
  };
  const env = {
    MUSTER_CLIENT_URL: proxy.url,
    MUSTER_CLIENT_DEVICE_URL: muster.device,
    MUSTER_CLIENT_API_KEY: owner.apiKey,
  };
  const clock = { ...systemClock, sleep };
  await agentSimulate(invocation(env, {}, { terminal, clock }), {
    count: 1,
    duration: SECONDS,
    changeEvery: 1,
    protocol: 'device',
    keep: false,
  });
  expect(await config()).toEqual(before);
  expect(words.join('')).toMatch(/had no answer: it is put back again in 10 s\.\n.*`muster otel get` shows/);
});

test('what somebody else has stored meanwhile is neither changed nor put back', async () => {
  await setOtel(muster, owner.apiKey);
  const emergency = { enabled: false, endpoint: 'https://emergency.example.com', evidenceLevel: 'hashes' };
  await using proxy = await LossyProxy.before(muster.api);
  let changes = 0;
  proxy.fate = ({ method, url }) => {
    if (url === '/v1/otel-config' && method === 'PUT') changes += 1;
    return 'through';
  };
  const simulating = musterHere(
    ['agent', 'simulate', '--count', '1', '--duration', '4s', '--change-every', '1s', '--yes'],
    { MUSTER_CLIENT_URL: proxy.url, MUSTER_CLIENT_DEVICE_URL: muster.device, MUSTER_CLIENT_API_KEY: owner.apiKey },
  );
  await until(() => changes > 0);
  await until(async () => String((await config())['endpoint']).includes('otel-'));
  await setOtel(muster, owner.apiKey, emergency);
  const { code, stderr } = await simulating;
  expect([code, await config()]).toEqual([0, expect.objectContaining(emergency)]);
  expect(stderr).toContain('Somebody else has changed the configuration: it stays as it is.');
});

test('the apps are deleted also where the configuration cannot be put back', async () => {
  await using proxy = await LossyProxy.before(muster.api);
  let changes = 0;
  let isRefused = false;
  proxy.fate = ({ method, url }) => {
    const isChange = url === '/v1/otel-config' && method !== 'GET';
    if (isChange) changes += 1;
    isRefused = isChange && changes > 1;
    return 'through';
  };
  proxy.header = (name, value) => (isRefused && name === 'authorization' ? undefined : value);
  const { code, stderr } = await musterHere(['agent', 'simulate', '--count', '2', '--change-every', '1s'], {
    MUSTER_CLIENT_URL: proxy.url,
    MUSTER_CLIENT_DEVICE_URL: muster.device,
    MUSTER_CLIENT_API_KEY: owner.apiKey,
  });
  expect(code).toBe(5);
  expect(stderr).toMatch(/could not be put back\.\n.* are deleted\.\nmuster: /);
  expect([await apps(), await config()]).toEqual([
    [],
    expect.objectContaining({ endpoint: 'https://otel-1.example.com' }),
  ]);
});

test('-o id is refused before an app is made', async () => {
  const before = await apps();
  expect(await simulate('--count', '1', '--duration', '1s', '-o', 'id')).toMatchObject({ code: 2, stdout: '' });
  expect(await apps()).toEqual(before);
});

test('the configuration of daemons that work is not changed unasked', async () => {
  const app = await createApp(muster, owner.apiKey, 'at work');
  await enrollOwn(muster, app, ownCredential().hash);
  const refused = await simulate('--count', '1', '--duration', '1s', '--change-every', '1s');
  expect(refused).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(/1 active apps.*--yes/) as string,
  });
  expect(await simulate('--count', '1', '--duration', '1s', '--change-every', '1s', '--yes')).toMatchObject({
    code: 0,
  });
  expect(await simulate('--count', '1', '--duration', '1s')).toMatchObject({ code: 0 });
  expect((await apps()).map(({ name }) => name)).toEqual(['at work']);
});

test.each([
  [['--count', '0'], /whole number of daemons from 1 to 1000/],
  [['--count', '1001'], /whole number of daemons from 1 to 1000/],
  [[], /required option '--count/],
  [['--count', '1', '--protocol', 'http'], /Allowed choices are device, opamp/],
])('%j is wrong usage', async (args, says) => {
  const { code, stderr } = await simulate(...args);
  expect(code).toBe(2);
  expect(stderr).toMatch(says);
});

test('an API key that is not taken is exit code 5, and leaves nothing', async () => {
  await call(`${muster.ops}/operator/v1/accounts/${owner.accountId}/api-keys/${owner.keyId}`, {
    method: 'DELETE',
    token: OPERATOR_TOKEN,
  });
  expect(await simulate('--count', '1')).toMatchObject({ code: 5, stdout: '' });
});
