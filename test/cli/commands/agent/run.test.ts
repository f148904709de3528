import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { LossyProxy } from '../../../support/http/lossy-proxy.ts';
import { scratchDirectory } from '../../../support/run/scratch-directory.ts';
import { readApp, setOtel } from '../../../support/service/daemon.ts';
import { musterHere, musterProcess, type Ended } from '../../../support/service/muster-command.ts';
import { createApp, Muster, tenant, type CreatedApp, type Tenant } from '../../../support/service/muster.ts';
import { until } from '../../../support/time/until.ts';

/* The command and its process. What the daemon does is held by test/cli/agent/agent.test.ts. */

let muster: Muster;
let owner: Tenant;
let app: CreatedApp;
let root: string;
let folder: string;
beforeAll(async () => {
  muster = await Muster.start();
  owner = await tenant(muster);
  await setOtel(muster, owner.apiKey, { authHeader: 'Bearer collector-secret' });
  root = scratchDirectory('agent-run');
});
afterAll(async () => {
  await muster[Symbol.asyncDispose]();
  rmSync(root, { recursive: true, force: true });
});
beforeEach(async () => {
  app = await createApp(muster, owner.apiKey);
  folder = mkdtempSync(join(root, 'daemon-'));
  writeFileSync(at('code'), `${app.enrollCode}\n`);
});

const at = (name: string): string => join(folder, name);
const text = (name: string): string => readFileSync(at(name), 'utf8');
const statusOf = async (): Promise<unknown> => (await readApp(muster, owner.apiKey, app.appId))['status'];
const words = (...more: string[]): string[] => ['agent', 'run', '--credential-file', at('credential'), ...more];
const enrolling = (...more: string[]): string[] => words('--app', app.appId, '--code-file', at('code'), ...more);
const run = (...args: string[]): Promise<Ended> => musterHere(args, { MUSTER_CLIENT_DEVICE_URL: muster.device });

describe('muster agent run', () => {
  test('writes nothing to stdout and no secret to stderr; --quiet says nothing at all', async () => {
    const ended = await run(...enrolling('--otel-config', at('collector.yaml'), '--once'));
    expect(ended).toEqual({
      code: 0,
      stdout: '',
      stderr: `Enrolled as ${app.appId}.\nConfiguration 1 is applied.\n`,
    });
    expect(text('collector.yaml')).toContain('"Bearer collector-secret"');
    const quiet = await run(...words('--otel-config', at('collector.yaml'), '--once', '--quiet'));
    expect(quiet).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  test('names the exporter as the collector knows it, in a file alone', async () => {
    const old = ['--exporter', 'otlphttp'];
    await run(...enrolling('--otel-config', at('collector.yaml'), '--once', ...old));
    expect(text('collector.yaml').match(/otlp_?http/g)).toEqual(['otlphttp', 'otlphttp', 'otlphttp', 'otlphttp']);
    const withoutFile = await run(...words('--once', ...old));
    expect(withoutFile.code).toBe(2);
    expect(withoutFile.stderr).toContain('give --otel-config');
    const unheardOf = await run(...words('--once', '--exporter', 'otlp'));
    expect(unheardOf.code).toBe(2);
    expect(unheardOf.stderr).toContain('otlp_http, otlphttp');
  });

  test('reports the platform and the version that it is told', async () => {
    await run(...enrolling('--once', '--platform', 'plan9/mips', '--agent-version', '7.1'));
    expect(await readApp(muster, owner.apiKey, app.appId)).toMatchObject({
      platform: 'plan9/mips',
      agentVersion: '7.1',
    });
  });

  test('has the pipelines that it is told in the file', async () => {
    const pipelines = ['--pipeline', 'traces=otlp', '--pipeline', 'logs=otlp,filelog/app'];
    expect(await run(...enrolling('--otel-config', at('file'), '--once', ...pipelines))).toMatchObject({ code: 0 });
    expect(text('file')).toContain('    logs/muster:\n      receivers: ["otlp", "filelog/app"]\n');
    expect(text('file')).not.toContain('metrics');
  });

  test('finds the service by --device-url before all others', async () => {
    const args = enrolling('--once', '--device-url', muster.device);
    expect(await musterHere(args, { MUSTER_CLIENT_DEVICE_URL: 'http://127.0.0.1:1' })).toMatchObject({ code: 0 });
  });

  test.each([
    [['--credential-file', 'x', '--code-file', 'x', '--code-stdin'], /not by both/],
    [['--credential-file', 'x', '--', 'true'], /give --otel-config/],
    [['--credential-file', 'x', '--pipeline', 'logs=otlp'], /give --otel-config/],
    [['--pipeline', 'spans=otlp'], /It is traces, metrics or logs/],
    [['--pipeline', 'logs=otlp,'], /It is traces, metrics or logs/],
    [['--pipeline', 'logs=otlp]\nexporters:'], /It is traces, metrics or logs/],
    [['--pipeline', `logs=${Array.from({ length: 17 }, () => 'otlp').join(',')}`], /It is traces, metrics or logs/],
    [['--pipeline', 'logs=otlp', '--pipeline', 'logs=filelog'], /logs is there twice/],
    [['--app', 'x'], /An app id is 20/],
    [['--connection', 'public'], /Allowed choices are cloud, private/],
    [['--device-url', 'ftp://x'], /must be http:/],
    [['--platform', 'über'], /printable ASCII/],
    [['--once'], /required option '--credential-file/],
  ])('%j is wrong usage', async (args, says) => {
    const { code, stdout, stderr } = await run('agent', 'run', ...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(says);
  });

  test.each([
    ['', /must have an enrollment code/],
    ['two words', /must have an enrollment code/],
    ['x'.repeat(5000), /at most 4096 bytes/],
  ])('a code file of %.12j is wrong usage, and nothing of it is told', async (content, says) => {
    writeFileSync(at('code'), content);
    const { code, stderr } = await run(...enrolling());
    expect(code).toBe(2);
    expect(stderr).toMatch(says);
    expect(stderr).not.toMatch(/two words|xxxx/);
  });

  test('ends with 5 where the code is refused, and with 2 where there is none', async () => {
    writeFileSync(at('code'), 'mst_code_wrong');
    expect(await run(...enrolling())).toMatchObject({
      code: 5,
      stderr: expect.stringMatching(
        /refuses the enrollment \(invalid_code\).* The code is from --code-(?:stdin|file \S+)\./,
      ) as string,
    });
    expect(await run('agent', 'run', '--credential-file', at('none'))).toMatchObject({ code: 2 });
  });
});

describe('the process', () => {
  const start = (args: readonly string[], url: string, stdin = '') =>
    musterProcess(args, { MUSTER_CLIENT_DEVICE_URL: url }, { stdin });

  test('takes the code from stdin, and ends with 0 at a SIGTERM while its poll is held', async () => {
    const args = words('--app', app.appId, '--code-stdin', '--otel-config', at('file'));
    const { child, ended } = start(args, muster.device, app.enrollCode);
    await until(() => written('file'));
    child.kill('SIGTERM');
    expect(await ended).toMatchObject({ code: 0, stdout: '' });
  });

  test('that is killed between its file and its enrollment enrolls with the same credential', async () => {
    await using proxy = await LossyProxy.before(muster.device);
    proxy.fate = () => 'reset';
    const { child, ended } = start(enrolling(), proxy.url);
    await until(() => proxy.seen.length > 0);
    child.kill('SIGKILL');
    await ended;
    const before = credential();
    expect(before).toMatchObject({ enrolled: false });
    expect(await statusOf()).toBe('pending');
    expect(await run(...enrolling('--once'))).toMatchObject({ code: 0 });
    expect(credential()).toEqual({ ...before, enrolled: true });
    expect(await statusOf()).toBe('active');
  });

  test('that is killed when it has enrolled, and does not know it yet, goes on with the same credential', async () => {
    await using proxy = await LossyProxy.before(muster.device);
    proxy.fate = () => 'hung';
    const { child, ended } = start(enrolling(), proxy.url);
    await until(async () => (await statusOf()) === 'active');
    child.kill('SIGKILL');
    await ended;
    const before = credential();
    expect(before).toMatchObject({ enrolled: false });
    expect(await run(...enrolling('--once'))).toMatchObject({ code: 0 });
    expect(credential()).toEqual({ ...before, enrolled: true });
  });

  const credential = (): Record<string, unknown> => JSON.parse(text('credential')) as Record<string, unknown>;
  function written(name: string): boolean {
    try {
      return text(name) !== '';
    } catch {
      return false;
    }
  }
});
