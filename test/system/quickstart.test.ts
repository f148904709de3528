import { execFile, execFileSync, spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { guard } from '../support/run/guard.ts';
import { COMPILED } from '../support/service/compiled.ts';

/* `npm start`, `npm run demo` and `muster dev`, as programs of their own on ports that they choose. */

const ROOT = join(import.meta.dirname, '../..');

interface Demo extends AsyncDisposable {
  /** All that it wrote up to now, for people and for programs. */
  readonly output: () => string;
  /** Resolves when the output has it. */
  until(part: string | RegExp): Promise<void>;
  /** Resolves when it has ended by itself. @returns the exit code */
  ended(): Promise<number | null>;
  /** Ctrl-C: the terminal's signal, and npm's. @returns the exit code */
  interrupt(): Promise<number | null>;
}

function start(
  words: readonly [program: string, ...args: string[]],
  dataDir: string,
  { env = {}, cwd }: { readonly env?: Readonly<Record<string, string>>; readonly cwd?: string } = {},
): Demo {
  const [program, ...args] = words;
  const child = spawn(process.execPath, [join(ROOT, program), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...COMPILED,
      MUSTER_DATA_DIR: dataDir,
      MUSTER_API_LISTEN: '127.0.0.1:0',
      MUSTER_DEVICE_LISTEN: '127.0.0.1:0',
      MUSTER_OPS_LISTEN: '127.0.0.1:0',
      MUSTER_PANEL_LISTEN: '127.0.0.1:0',
      ...env,
    },
    cwd,
  });
  guard(child);
  const ended = once(child, 'exit');
  const closed = once(child, 'close');
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  return {
    output: () => output,
    async until(part) {
      while (output.search(part) < 0) await Promise.race([more(child), ended.then(endedEarly)]);
    },
    async ended() {
      await closed;
      return child.exitCode;
    },
    async interrupt() {
      child.kill('SIGINT');
      child.kill('SIGINT');
      await ended;
      return child.exitCode;
    },
    async [Symbol.asyncDispose]() {
      if (child.kill('SIGKILL')) await ended;
    },
  };

  function endedEarly(): never {
    throw new Error(`it ended:\n${output}`);
  }
}

const more = ({ stdout, stderr }: ChildProcessByStdio<null, Readable, Readable>): Promise<unknown> =>
  Promise.race([once(stdout, 'data'), once(stderr, 'data')]);

function dataDirectory(): { readonly path: string } & Disposable {
  const path = mkdtempSync(join(tmpdir(), 'muster-demo-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

const keyIn = (output: string): string => /API key +(mst_live_\w+)/.exec(output)?.[1] ?? '';

test('the lines that npm start prints work when pasted, and a second start keeps the key', async () => {
  using directory = dataDirectory();
  await using demo = start(['demo/start.ts'], directory.path);
  await demo.until('Ctrl-C ends it.');
  const lines = demo
    .output()
    .split('\n')
    .filter((line) => line.includes('curl '));
  expect(lines).toHaveLength(3);

  const { stdout, stderr } = await promisify(execFile)('sh', ['-c', lines.join('\n')]);
  expect(stderr).toBe('');
  const [created, firstPoll, stored, secondPoll] = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
  expect(created).toMatchObject({ status: 'pending', name: 'first daemon' });
  expect(firstPoll).toMatchObject({ revision: 0, otel: { enabled: false } });
  expect(stored).toMatchObject({ enabled: true, authHeaderSet: true });
  expect(secondPoll).toMatchObject({ revision: 1, otel: { enabled: true, endpoint: 'https://otel.example.com' } });
  expect(statSync(join(directory.path, 'demo-api-key')).mode & 0o777).toBe(0o600);
  expect(await demo.interrupt()).toBe(0);

  await using again = start(['demo/start.ts'], directory.path);
  await again.until('Ctrl-C ends it.');
  expect(keyIn(again.output())).toBe(keyIn(demo.output()));
  expect(await again.interrupt()).toBe(0);
});

/** The commands of a section of a document, in their order. */
function commandsOf(document: string, section: string): string {
  const text = readFileSync(join(import.meta.dirname, '../..', document), 'utf8');
  const part = text.split(/^## /m).find((candidate) => candidate.startsWith(`${section}\n`)) ?? '';
  return [...part.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, commands = '']) => commands).join('');
}

test('the walk of README.md works word for word, but for the addresses and folders', async () => {
  using directory = dataDirectory();
  await using demo = start(['demo/start.ts'], directory.path);
  await demo.until('Ctrl-C ends it.');
  const [api = '', device = '', ops = ''] = demo.output().match(/http:\/\/127\.0\.0\.1:\d+/g) ?? [];
  const walk = commandsOf('README.md', 'A walk with curl')
    .replace('http://127.0.0.1:8080', api)
    .replace('http://127.0.0.1:8081', device)
    .replace('http://127.0.0.1:8082', ops)
    .replaceAll('/tmp/polled.json', join(directory.path, 'polled.json'))
    .replace('.muster/operator-token', join(directory.path, 'operator-token'));

  const { stdout, stderr } = await promisify(execFile)('sh', ['-c', walk]);
  expect(stderr).toBe('');
  const lines = stdout.trim().split(/\r?\n/);
  const [created, stored, polled, listed, revoked] = lines.slice(0, 5).map((line) => JSON.parse(line) as unknown);
  expect(created).toMatchObject({ status: 'pending', name: 'edge 1' });
  expect(stored).toMatchObject({ enabled: true, authHeaderSet: true });
  expect(polled).toMatchObject({ revision: 1, otel: { headers: { Authorization: 'Bearer collector-secret' } } });
  expect(listed).toMatchObject({ apps: [{ status: 'active', platform: 'linux' }] });
  expect(revoked).toMatchObject({ status: 'revoked' });
  expect(lines[5]).toBe('HTTP/1.1 401 Unauthorized');
  expect(lines.at(-1)).toContain('"invalid_credential"');
  expect(await demo.interrupt()).toBe(0);
});

test('the first lines of README.md work word for word, beside npm start on any ports', async () => {
  using directory = dataDirectory();
  await using demo = start(['demo/start.ts'], join(directory.path, '.muster'));
  await demo.until('Ctrl-C ends it.');
  const [first = ''] = readFileSync(join(ROOT, 'README.md'), 'utf8').split(/^## /m);
  const lines = /^```sh\n([\s\S]*?)\n```$/m.exec(first)?.[1] ?? '';
  expect(lines.split('\n').filter((line) => line.includes('./bin/muster.mjs'))).toHaveLength(4);

  // A checkout, but for its sources.
  symlinkSync(join(ROOT, 'bin'), join(directory.path, 'bin'));
  const env = { PATH: `${dirname(process.execPath)}:${process.env['PATH']}`, ...COMPILED };
  const { stderr } = await promisify(execFile)('sh', ['-c', `set -e\n${lines} --once`], { env, cwd: directory.path });
  expect(stderr).toMatch(/^Enrolled as \w{20}\.\nConfiguration 1 is applied\.$/m);
  expect(readFileSync(join(directory.path, 'edge.yaml'), 'utf8')).toContain('endpoint: "https://otel.example.com"\n');
  // Secrets are among what the walk has made; the link is of this test.
  copyFileSync(join(ROOT, '.gitignore'), join(directory.path, '.gitignore'));
  execFileSync('git', ['init', '--quiet'], { cwd: directory.path });
  const status = ['status', '--porcelain', '--untracked-files=all'];
  const untracked = execFileSync('git', status, { cwd: directory.path, encoding: 'utf8' });
  expect(untracked).toBe('?? .gitignore\n?? bin\n');
  expect(await demo.interrupt()).toBe(0);
});

test('the daemons of npm run demo enroll, receive and acknowledge, and it ends with 0', async () => {
  using directory = dataDirectory();
  await using demo = start(['demo/fleet.ts'], directory.path);
  await demo.until(/(?:2[5-9]|[3-9]\d|\d{3,}) acks .* (?:2[5-9]|[3-9]\d|\d{3,}) enrolled/);
  expect(await demo.interrupt()).toBe(0);
});

test('muster dev has as many daemons as it is told, and the commands that it prints work when pasted', async () => {
  using directory = dataDirectory();
  const data = join(directory.path, "its data, isn't it");
  await using dev = start(['bin/muster.mjs', 'dev', '--agents', '3', '--data-dir', data], directory.path, {
    cwd: directory.path,
  });
  await dev.until('Ctrl-C ends it.');
  expect(dev.output()).toContain(`its data lies in ${data}.`);
  expect(dev.output()).not.toContain('mst_live_');
  await dev.until(/(?:[3-9]|\d{2,}) acks .* (?:[3-9]|\d{2,}) enrolled/);
  expect(statSync(join(data, 'demo-addresses.json')).mode & 0o777).toBe(0o600);

  const lines = dev
    .output()
    .split('\n')
    .filter((line) => /^\S.*muster(?:\.mjs)?'? (?:env|otel|agent) /.test(line));
  expect(lines).toHaveLength(3);
  // Another terminal has none of the variables, and finds the ports all the same.
  const env = { PATH: `${dirname(process.execPath)}:${process.env['PATH']}`, ...COMPILED };
  const script = `set -e\n${lines.join('\n')} --once`;
  const { stderr } = await promisify(execFile)('sh', ['-c', script], { env, cwd: directory.path });
  expect(stderr).toMatch(/^Enrolled as \w{20}\.\nConfiguration \d+ is applied\.$/m);
  expect(readFileSync(join(directory.path, 'first.yaml'), 'utf8')).toMatch(
    /endpoint: "https:\/\/otel.*\.example\.com"/,
  );
  expect(await dev.interrupt()).toBe(0);
  expect(existsSync(join(data, 'demo-addresses.json'))).toBe(false);
});

test('a second muster dev in the same folder says so in one sentence, and takes nothing from the first', async () => {
  using directory = dataDirectory();
  await using first = start(['bin/muster.mjs', 'dev'], directory.path);
  await first.until('Ctrl-C ends it.');
  await using second = start(['bin/muster.mjs', 'dev'], directory.path);
  expect(await second.ended()).toBe(1);
  expect(second.output()).toMatch(/^muster cannot start: [^\n{]+\n$/);
  expect(existsSync(join(directory.path, 'demo-addresses.json'))).toBe(true);
  expect(await first.interrupt()).toBe(0);
});

test('muster dev in a shell that muster env has led to another installation has secrets of its own', async () => {
  using directory = dataDirectory();
  const [one, other] = ['one', 'other'].map((name) => join(directory.path, name)) as [string, string];
  await using first = start(['bin/muster.mjs', 'dev'], one);
  await first.until('Ctrl-C ends it.');
  const path = { PATH: `${dirname(process.execPath)}:${process.env['PATH']}`, ...COMPILED };
  const evaluated = `eval "$("$1" env --data-dir "$2")"; env`;
  const told = await promisify(execFile)('sh', ['-c', evaluated, 'sh', join(ROOT, 'bin/muster.mjs'), one], {
    env: path,
    cwd: directory.path,
  });
  const shell = Object.fromEntries(
    [...told.stdout.matchAll(/^(MUSTER_\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
  );
  expect(Object.keys(shell)).toHaveLength(5);

  await using second = start(['bin/muster.mjs', 'dev'], other, { env: shell });
  await second.until('Ctrl-C ends it.');
  const [token, own] = [one, other].map((folder) => readFileSync(join(folder, 'operator-token'), 'utf8').trim());
  expect(own).not.toBe(token);
  const opsOf = (dev: Demo): string => /operator +(http:\S+)/.exec(dev.output())?.[1] ?? '';
  const asked = async (dev: Demo, bearer = ''): Promise<number> =>
    (await fetch(`${opsOf(dev)}/operator/v1/accounts`, { headers: { authorization: `Bearer ${bearer}` } })).status;
  expect([await asked(second, own), await asked(second, token), await asked(first, token)]).toEqual([200, 401, 200]);
  // And the shell asks the one that it was led to.
  const { stdout } = await promisify(execFile)(join(ROOT, 'bin/muster.mjs'), ['version', '--running'], {
    env: { ...path, ...shell },
  });
  expect(stdout).toContain(opsOf(first));
  expect([await first.interrupt(), await second.interrupt()]).toEqual([0, 0]);
});
