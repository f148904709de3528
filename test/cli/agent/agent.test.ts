import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { idleFile } from '../../../src/cli/agent/collector-file.ts';
import { systemClock } from '../../../src/time/clock.ts';
import { startAgent, type AgentPlan, type StartedAgent } from '../../support/cli/agent.ts';
import { LossyProxy, type Fate } from '../../support/http/lossy-proxy.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { auditOf, readApp, revoke, setOtel } from '../../support/service/daemon.ts';
import { call, createApp, Muster, tenant, type CreatedApp, type Tenant } from '../../support/service/muster.ts';
import { asOperator } from '../../support/service/v1.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

let muster: Muster;
let owner: Tenant;
let app: CreatedApp;
let root: string;
let folder: string;
beforeAll(async () => {
  muster = await Muster.start();
  root = scratchDirectory('agent');
});
afterAll(async () => {
  await muster[Symbol.asyncDispose]();
  rmSync(root, { recursive: true, force: true });
});
beforeEach(async () => {
  owner = await tenant(muster);
  app = await createApp(muster, owner.apiKey);
  folder = mkdtempSync(join(root, 'daemon-'));
});

const file = (name: string): string => readFileSync(join(folder, name), 'utf8');
const kept = () => JSON.parse(file('credential')) as { appId: string; credential: string; enrolled: boolean };
const collector = (): string => {
  try {
    return file('collector.yaml');
  } catch {
    return '';
  }
};
const start = (plan: Partial<AgentPlan> = {}): StartedAgent => startAgent({ url: muster.device, folder, app, ...plan });
const statusOf = async (): Promise<unknown> => (await readApp(muster, owner.apiKey, app.appId))['status'];
const rollout = async () => (await asOperator(muster)(`GET /accounts/${owner.accountId}/rollout`)).body;
const applied = (revision: number): Promise<void> =>
  until(async () => {
    const { revision: now, applied } = await rollout();
    return now === revision && applied === 1;
  });
const configure = (more?: object) => setOtel(muster, owner.apiKey, more);

/** A proxy of the device listener whose faults begin with the path. */
async function proxied(fate: (path: string, seen: number) => Fate): Promise<LossyProxy> {
  const proxy = await LossyProxy.before(muster.device);
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  const counts = new Map<string, number>();
  proxy.fate = ({ url = '' }) => {
    counts.set(url, (counts.get(url) ?? 0) + 1);
    return fate(url, counts.get(url) ?? 0);
  };
  return proxy;
}

describe('a daemon', () => {
  test('enrolls, follows each change in its file, and acknowledges it', async () => {
    await configure({ authHeader: 'Bearer one' });
    await using agent = start();
    await applied(1);
    expect(kept()).toEqual({
      appId: app.appId,
      credential: expect.stringMatching(/^mst_dev_[\w-]{43}$/) as string,
      enrolled: true,
    });
    for (const name of ['credential', 'collector.yaml']) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    expect(collector()).toContain('"Authorization": "Bearer one"\n');
    expect(await readApp(muster, owner.apiKey, app.appId)).toMatchObject({
      status: 'active',
      platform: 'linux/test',
      agentVersion: '1.0.0',
    });

    await configure({ endpoint: 'https://other.example.com', authHeader: 'X-Token: two$' });
    await applied(2);
    expect(collector()).toContain('endpoint: "https://other.example.com"\n    headers:\n      "X-Token": "two$$"\n');
    expect(agent.said).toEqual([
      `Enrolled as ${app.appId}.`,
      'Configuration 1 is applied.',
      'Configuration 2 is applied.',
    ]);
  });

  test('that was cloned with its credential is found, one that has started anew is not', async () => {
    await configure();
    const audited = async (): Promise<readonly string[]> =>
      (await auditOf(muster, owner.accountId)).map(({ action }) => action);
    for (let starts = 0; starts < 5; starts += 1) {
      await using once = start({ once: true });
      await once.ended;
    }
    expect(await audited()).not.toContain('credential.shared');
    const clone = mkdtempSync(join(root, 'clone-'));
    cpSync(join(folder, 'credential'), join(clone, 'credential'));
    await using original = start();
    await using cloned = start({ folder: clone });
    // Each change lets both of them poll again.
    for (let change = 0; change < 3; change += 1) {
      await until(() => [original, cloned].every(({ said }) => said.length > change));
      await configure({ enabled: change % 2 === 1 });
    }
    await until(async () => (await audited()).includes('credential.shared'));
  });

  test('has an empty file where the configuration is disabled, set again, and purged', async () => {
    await configure({ authHeader: 'Bearer secret' });
    await using agent = start();
    await applied(1);
    await configure({ enabled: false });
    await applied(2);
    expect(collector()).toBe(idleFile());
    await configure();
    await applied(3);
    expect(collector()).toContain('Bearer secret');
    await call(`${muster.api}/v1/otel-config`, { method: 'DELETE', token: owner.apiKey });
    await applied(4);
    expect(collector()).toBe(idleFile());
    expect(agent.said.join('\n')).not.toContain('secret');
  });

  test('is told nothing as a private one', async () => {
    await configure();
    await using agent = start({ connection: 'private', once: true });
    await agent.ended;
    expect(collector()).toBe(idleFile());
  });

  test.each([
    [0o600, 0o600, 'its owner alone'],
    [0o640, 0o640, 'its group, as that of a collector under a user of its own'],
    [0o660, 0o640, 'never to be written by others'],
    [0o644, 0o640, 'never to be read by everybody'],
    [0o604, 0o600, 'everybody is no group'],
  ])('a file of mode %o there is replaced by one of mode %o (%s)', async (before, after) => {
    await configure({ authHeader: 'Bearer secret' });
    const path = join(folder, 'collector.yaml');
    const groups = process.getgroups?.() ?? [];
    const group =
      process.getuid?.() === 0 ? 54_321 : (groups.find((gid) => gid !== process.getegid?.()) ?? groups[0] ?? 0);
    writeFileSync(path, '');
    chownSync(path, statSync(path).uid, group);
    chmodSync(path, before);
    await start({ once: true }).ended;
    expect(collector()).toContain('Bearer secret');
    const { mode, gid } = statSync(path);
    expect((mode & 0o777).toString(8)).toBe(after.toString(8));
    if (after === 0o640) expect(gid).toBe(group);
  });

  test('a link there is replaced by a file for its owner alone', async () => {
    await configure();
    writeFileSync(join(folder, 'open'), '', { mode: 0o644 });
    symlinkSync(join(folder, 'open'), join(folder, 'collector.yaml'));
    await start({ once: true }).ended;
    expect(statSync(join(folder, 'collector.yaml')).mode & 0o777).toBe(0o600);
    expect(file('open')).toBe('');
  });

  test('without a file follows and acknowledges all the same', async () => {
    await configure();
    await using agent = start({ configFile: undefined });
    await applied(1);
    expect(agent.said).toContain('Configuration 1 is applied.');
  });

  test('started again has no need of its code, and keeps its credential', async () => {
    await using first = start();
    await until(() => first.said.length > 0 && kept().enrolled);
    await first.stop();
    const { credential } = kept();
    await configure();
    await using again = start({ app: undefined });
    await applied(1);
    expect(kept().credential).toBe(credential);
    expect(again.said).toEqual(['Configuration 1 is applied.']);
  });

  test('polls with a credential that lies in its file alone', async () => {
    await start({ once: true }).ended;
    writeFileSync(join(folder, 'credential'), `${kept().credential}\n`);
    await configure();
    await start({ app: undefined, once: true }).ended;
    expect(collector()).toContain('https://otel.example.com');
  });
});

describe('an enrollment', () => {
  test('whose answers are lost burns no code, and leaves one credential', async () => {
    const proxy = await proxied((path, seen) => (path.endsWith('/enroll') && seen <= 3 ? 'lost' : 'through'));
    await start({ url: proxy.url, once: true }).ended;
    expect(proxy.seen.filter(({ path }) => path.endsWith('/enroll'))).toHaveLength(4);
    expect(await statusOf()).toBe('active');
    expect(kept().enrolled).toBe(true);
  });

  test('has its credential on the disk before the request is sent', async () => {
    const { promise: sent, resolve: onSent } = Promise.withResolvers<{ enrolled: boolean }>();
    const proxy = await proxied((path) => {
      if (path.endsWith('/enroll')) onSent(kept());
      return 'reset';
    });
    await using agent = start({ url: proxy.url });
    expect(await sent).toMatchObject({ appId: app.appId, enrolled: false });
    await agent.stop();
    const { credential } = kept();
    expect(await statusOf()).toBe('pending');
    await start({ once: true }).ended;
    expect(kept()).toEqual({ appId: app.appId, credential, enrolled: true });
  });

  test('that was carried out, and was never known to be, is found out 16 minutes later', async () => {
    const clock = new FakeClock();
    await using later = await Muster.start({ clock });
    const { apiKey } = await tenant(later);
    const one = await createApp(later, apiKey);
    await start({ url: later.device, app: one, once: true }).ended;
    writeFileSync(join(folder, 'credential'), JSON.stringify({ ...kept(), enrolled: false }));
    clock.advance(16 * 60_000);
    await start({ url: later.device, app: one, once: true }).ended;
    expect(kept().enrolled).toBe(true);
  });

  test('that was carried out, and was never known to be, needs no code any more', async () => {
    await start({ once: true }).ended;
    const known = kept();
    writeFileSync(join(folder, 'credential'), JSON.stringify({ ...known, enrolled: false }));
    await using agent = start({ app: undefined, once: true });
    await agent.ended;
    expect(kept()).toEqual(known);
    expect(agent.said).toContain(`Enrolled as ${app.appId}.`);
  });

  test('that was never carried out still needs its code, and leaves it unread where it was', async () => {
    await start({ once: true }).ended;
    const known = kept();
    const other = await createApp(muster, owner.apiKey);
    const text = JSON.stringify({
      ...known,
      appId: other.appId,
      credential: `mst_dev_${'x'.repeat(43)}`,
      enrolled: false,
    });
    writeFileSync(join(folder, 'credential'), text);
    await expect(start({ app: undefined, once: true }).ended).rejects.toThrow(
      /no enrolled credential yet: give a code/,
    );
    expect(file('credential')).toBe(text);
    writeFileSync(join(folder, 'credential'), JSON.stringify({ ...known, enrolled: false }));
    let reads = 0;
    const read = async () => {
      reads += 1;
      return app.enrollCode;
    };
    const code = { from: '--code-stdin', read };
    await start({ code, once: true }).ended;
    expect(reads).toBe(0);
  });

  test.each([
    [
      'a wrong code',
      async () => ({ ...app, enrollCode: app.enrollCode.replace(/.$/, (end) => (end === 'a' ? 'b' : 'a')) }),
    ],
    ['a code of another app', async () => ({ ...app, enrollCode: (await createApp(muster, owner.apiKey)).enrollCode })],
  ])('with %s is refused, and succeeds with the right one', async (_what, make) => {
    const wrong = await make();
    await expect(start({ app: wrong }).ended).rejects.toMatchObject({ kind: 'refused' });
    await expect(start({ app: wrong }).ended).rejects.toThrow(/invalid_code.*remove .*credential/);
    await start({ once: true }).ended;
    expect(await statusOf()).toBe('active');
  });

  test('of a disabled account is refused', async () => {
    await asOperator(muster)(`PATCH /accounts/${owner.accountId}`, { body: { disabled: true } });
    await expect(start().ended).rejects.toThrow(/account_disabled/);
  });

  test('without a code, or without an app, is not tried', async () => {
    await expect(start({ app: undefined }).ended).rejects.toMatchObject({ kind: 'usage' });
    await expect(start({ appId: undefined }).ended).rejects.toThrow(/give its app by --app/);
    expect(() => kept()).toThrow(/ENOENT/);
  });
});

describe('the file of the credential', () => {
  test.each([
    ['{}', /no credential file/],
    ['mst_dev_short', /no credential file/],
    ['{"credential":"mst_dev_planted","enrolled":true}', /no credential file/],
  ])('%j is none, and is left as it is', async (text, says) => {
    writeFileSync(join(folder, 'credential'), text, { mode: 0o600 });
    await expect(start().ended).rejects.toThrow(says);
    await expect(start().ended).rejects.not.toThrow(/mst_dev/);
    expect(file('credential')).toBe(text);
  });

  test('that others can read is refused', async () => {
    await start({ once: true }).ended;
    for (const mode of [0o640, 0o604]) {
      writeFileSync(join(folder, `credential-${mode}`), file('credential'), { mode });
      const credentialFile = join(folder, `credential-${mode}`);
      await expect(start({ credentialFile }).ended).rejects.toThrow(/chmod 600/);
    }
  });

  test('of another app is refused', async () => {
    await start({ once: true }).ended;
    const other = await createApp(muster, owner.apiKey);
    await expect(start({ app: other }).ended).rejects.toThrow(/is the credential of the app/);
  });
});

describe('a refused credential', () => {
  test('is told once, ends with a stop, and with `once` by itself', async () => {
    await using agent = start();
    await until(async () => (await statusOf()) === 'active' && agent.said.length === 2);
    await revoke(muster, owner.apiKey, app.appId);
    await until(() => agent.said.length === 3);
    expect(agent.said[2]).toMatch(/refuses the credential of .*credential: the app was revoked.*remove that file/);
    await agent.stop();
    expect(agent.said).toHaveLength(3);
    await expect(start({ once: true }).ended).rejects.toMatchObject({
      kind: 'refused',
      message: expect.stringMatching(/ The credential is from \S+\/credential\.$/) as string,
    });
  });

  test('of a disabled account has words of its own', async () => {
    await start({ once: true }).ended;
    await asOperator(muster)(`PATCH /accounts/${owner.accountId}`, { body: { disabled: true } });
    await using agent = start();
    await until(() => agent.said.length > 0);
    expect(agent.said).toEqual([expect.stringMatching(/^The account is disabled/)]);
  });
});

describe('trouble', () => {
  test('an outage is told once, and so is its end; what changed meanwhile arrives', async () => {
    await start({ once: true }).ended;
    let isDown = true;
    const proxy = await proxied(() => (isDown ? 502 : 'through'));
    await using agent = start({ url: proxy.url });
    await until(() => proxy.count(502) >= 5);
    await configure();
    isDown = false;
    await applied(1);
    expect(agent.said).toEqual([
      expect.stringMatching(/^The service does not answer: .* has received no configuration since its start\.$/),
      'The service answers again.',
      'Configuration 1 is applied.',
    ]);
  });

  test.each([
    ['drops If-None-Match', ''],
    ['drops If-None-Match, and makes tags weak', 'W/'],
  ])('a proxy that %s makes it poll no faster than the service asks for', async (_what, weak) => {
    await configure();
    const proxy = await proxied(() => 'through');
    proxy.header = (name, value) => {
      if (name === 'if-none-match') return undefined;
      return name === 'etag' ? `${weak}${value}` : value;
    };
    const pauses: number[] = [];
    const clock = {
      monotonic: () => systemClock.monotonic(),
      sleep: async (ms: number, signal?: AbortSignal) => {
        pauses.push(ms);
        await systemClock.sleep(ms, signal);
      },
    };
    await using agent = start({ url: proxy.url, surroundings: { clock } });
    await until(() => pauses.length > 0);
    // The service spreads its interval of 60 s.
    expect(pauses).toHaveLength(1);
    expect(pauses[0]).toBeGreaterThanOrEqual(30_000);
    expect(proxy.seen.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /device/v1/enroll',
      'GET /device/v1/config',
      'POST /device/v1/config/ack',
      'GET /device/v1/config',
    ]);
    expect(agent.said).toHaveLength(2);
  });

  test('an acknowledgement whose answer is lost is sent again', async () => {
    await configure();
    const proxy = await proxied((path, seen) => (path.endsWith('/ack') && seen <= 2 ? 'reset' : 'through'));
    await using agent = start({ url: proxy.url });
    await applied(1);
    expect(agent.said.filter((text) => text.startsWith('The acknowledgement is not taken'))).toHaveLength(1);
  });

  test('a folder that is missing is a failure that the operator sees, and is tried again until it is there', async () => {
    await configure();
    await using agent = start({ configFile: join(folder, 'later', 'collector.yaml') });
    await until(async () => (await rollout())['failed'] === 1);
    expect(await rollout()).toMatchObject({ failures: [{ error: 'the file cannot be written (ENOENT)' }] });
    mkdirSync(join(folder, 'later'));
    await applied(1);
    expect(agent.said.slice(1)).toEqual([
      'Configuration 1 is not applied: the file cannot be written (ENOENT).',
      'Configuration 1 is applied.',
    ]);
  });

  test('with `once`, a failure is the end', async () => {
    await configure();
    const configFile = join(folder, 'missing', 'collector.yaml');
    await expect(start({ once: true, configFile }).ended).rejects.toThrow(/ENOENT/);
  });
});

describe('the command on a change', () => {
  /** Words that run a script by sh. */
  const sh = (script: string, ...args: string[]): string[] => ['sh', '-c', script, 'sh', ...args];

  test('runs after the file is written, once a text, with its words as they are and no secret around it', async () => {
    await configure({ authHeader: 'Bearer secret' });
    const command = sh(
      'echo "$MUSTER_AGENT_REVISION $1 $(grep -c secret "$MUSTER_AGENT_CONFIG")" >> "$2"; env > "$2.env"',
      '$(touch planted) `x` ; "',
      join(folder, 'ran'),
    );
    const env = {
      PATH: process.env['PATH'],
      HOME: '/root',
      MUSTER_CLIENT_API_KEY: 'leaked',
      AWS_SECRET_ACCESS_KEY: 'leaked',
    };
    await using agent = start({ command, surroundings: { env } });
    await applied(1);
    // The evidence level is not in the file, so that nothing is to be loaded again.
    await configure({ evidenceLevel: 'full' });
    await applied(2);
    await configure({ enabled: false });
    await applied(3);
    expect(file('ran')).toBe('1 $(touch planted) `x` ; " 1\n3 $(touch planted) `x` ; " 0\n');
    expect(file('ran.env')).toMatch(/^PATH=/m);
    expect(file('ran.env')).not.toMatch(/leaked|secret|mst_/);
    expect(agent.said.slice(1)).toEqual([1, 2, 3].map((revision) => `Configuration ${revision} is applied.`));
  });

  test('that fails is a failure, and runs again until it succeeds', async () => {
    await configure();
    const command = sh('test -e "$1" || exit 3', join(folder, 'ready'));
    await using agent = start({ command });
    await until(async () => (await rollout())['failed'] === 1);
    expect(await rollout()).toMatchObject({ failures: [{ error: 'the command ended with 3' }] });
    writeFileSync(join(folder, 'ready'), '');
    await applied(1);
    expect(agent.said.slice(1)).toEqual([
      'Configuration 1 is not applied: the command ended with 3.',
      'Configuration 1 is applied.',
    ]);
  });

  test('that failed with a newer text runs again for the older one', async () => {
    await configure();
    const command = sh('cp "$MUSTER_AGENT_CONFIG" "$1.ran"; test ! -e "$1"', join(folder, 'fails'));
    await using agent = start({ command });
    await applied(1);
    writeFileSync(join(folder, 'fails'), '');
    await configure({ endpoint: 'https://wrong.example.com' });
    await until(async () => (await rollout())['failed'] === 1);
    rmSync(join(folder, 'fails'));
    await configure();
    await applied(3);
    for (const name of ['collector.yaml', 'fails.ran']) expect(file(name)).toContain('https://otel.example.com');
    expect(agent.said.at(-1)).toBe('Configuration 3 is applied.');
  });

  test('that does not exist is a failure', async () => {
    await configure();
    await expect(start({ command: [join(folder, 'nothing')], once: true }).ended).rejects.toThrow(
      /^Configuration 1 is not applied: the command cannot be run \(ENOENT\)\.$/,
    );
    expect(await rollout()).toMatchObject({ failed: 1 });
  });

  test.each([
    ['longer than the system takes', 'x'.repeat(4_000_000), 'E2BIG'],
    ['with a character that no argument takes', 'x\0y', 'ERR_INVALID_ARG_VALUE'],
  ])('with a word %s is told as one that cannot be run', async (_what, word, code) => {
    await configure();
    await expect(start({ command: ['true', word], once: true }).ended).rejects.toThrow(
      `Configuration 1 is not applied: the command cannot be run (${code}).`,
    );
    expect(collector()).toContain('https://otel.example.com');
  });

  test('that does not end is stopped with all that it has started', async () => {
    await configure();
    const command = sh('trap "" TERM; sleep 3600 & echo $! > "$1"; while :; do sleep 1; done', join(folder, 'pid'));
    // Its time is over as soon as it has begun.
    const clock = { monotonic: () => 0, sleep: () => until(() => collector() !== '' && pidOf() > 0) };
    await expect(start({ command, once: true, surroundings: { clock, commandMs: 60_000 } }).ended).rejects.toThrow(
      /the command was stopped after 60 s/,
    );
    await until(() => isGone(pidOf()));
  });

  test('ends with the daemon, which acknowledges nothing then', async () => {
    await configure();
    const command = sh('echo $$ > "$1"; exec sleep 3600', join(folder, 'pid'));
    await using agent = start({ command });
    await until(() => pidOf() > 0);
    await agent.stop();
    await until(() => isGone(pidOf()));
    expect(await rollout()).toMatchObject({ applied: 0, failed: 0 });
  });

  /** A process that has ended and that nobody has asked for its exit code yet is gone, too. */
  function isGone(pid: number): boolean {
    try {
      process.kill(pid, 0);
      return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
    } catch (error) {
      // A system without /proc has an init that asks for it at once.
      return (error as NodeJS.ErrnoException).code === 'ESRCH';
    }
  }

  function pidOf(): number {
    try {
      return Number(file('pid'));
    } catch {
      return 0;
    }
  }
});
