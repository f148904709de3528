import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { guard } from '../support/run/guard.ts';
import { COMPILED } from '../support/service/compiled.ts';

/* `npm start` and `npm run demo`, as programs of their own on ports that they choose. */

const DEMO = join(import.meta.dirname, '../../demo');

interface Demo extends AsyncDisposable {
  /** All that it wrote up to now. */
  readonly output: () => string;
  /** Resolves when the output has it. */
  until(part: string | RegExp): Promise<void>;
  /** Ctrl-C: the terminal's signal, and npm's. @returns the exit code */
  interrupt(): Promise<number | null>;
}

function start(program: 'start.ts' | 'fleet.ts', dataDir: string): Demo {
  const child = spawn(process.execPath, [join(DEMO, program)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...COMPILED,
      MUSTER_DATA_DIR: dataDir,
      MUSTER_API_LISTEN: '127.0.0.1:0',
      MUSTER_DEVICE_LISTEN: '127.0.0.1:0',
      MUSTER_OPS_LISTEN: '127.0.0.1:0',
    },
  });
  guard(child);
  const ended = once(child, 'exit');
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  return {
    output: () => output,
    async until(part) {
      while (output.search(part) < 0) await Promise.race([once(child.stdout, 'data'), ended.then(endedEarly)]);
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

function dataDirectory(): { readonly path: string } & Disposable {
  const path = mkdtempSync(join(tmpdir(), 'muster-demo-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

const keyIn = (output: string): string => /API key +(mst_live_\w+)/.exec(output)?.[1] ?? '';

test('the lines that npm start prints work when pasted, and a second start keeps the key', async () => {
  using directory = dataDirectory();
  await using demo = start('start.ts', directory.path);
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

  await using again = start('start.ts', directory.path);
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
  await using demo = start('start.ts', directory.path);
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

test('the daemons of npm run demo enroll, receive and acknowledge, and it ends with 0', async () => {
  using directory = dataDirectory();
  await using demo = start('fleet.ts', directory.path);
  await demo.until(/(?:2[5-9]|[3-9]\d|\d{3,}) acks .* (?:2[5-9]|[3-9]\d|\d{3,}) enrolled/);
  expect(await demo.interrupt()).toBe(0);
});
