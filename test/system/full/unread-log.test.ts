import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { expect, test } from 'vitest';
import { guard } from '../../support/run/guard.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { freePorts } from '../../support/service/free-ports.ts';
import { call, createApp, OPERATOR_TOKEN, tenant } from '../../support/service/muster.ts';
import { until } from '../../support/time/until.ts';

/* A reader of stdout that stands still: a log collector that hangs, a terminal that is halted. */

const SRC = join(import.meta.dirname, '../../../src');

/** A pipe of which both ends are open here, so that whoever writes to it waits until it is read. */
class Pipe implements Disposable {
  readonly fd: number;

  constructor() {
    const path = join(scratchDirectory('unread-log'), 'pipe');
    execFileSync('mkfifo', [path]);
    this.fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  }

  /** Takes whatever fits into it. */
  fill(): this {
    for (const size of [4096, 1]) while (this.#takes(size));
    return this;
  }

  read(): string {
    const buffer = Buffer.alloc(65_536);
    try {
      return buffer.toString('utf8', 0, readSync(this.fd, buffer));
    } catch {
      return '';
    }
  }

  [Symbol.dispose](): void {
    closeSync(this.fd);
  }

  #takes(size: number): boolean {
    try {
      return writeSync(this.fd, '\n'.repeat(size)) > 0;
    } catch {
      return false;
    }
  }
}

const ended = async (child: ChildProcess): Promise<readonly unknown[]> =>
  (await once(child, 'exit')) as readonly unknown[];

test.each(['SIGTERM', 'SIGHUP'] as const)('the service serves, and drains at %s', async (signal) => {
  using stdout = new Pipe().fill();
  const [api, ops] = (await freePorts(2)).map((port) => `127.0.0.1:${port}`);
  const child = spawn(process.execPath, [join(SRC, 'main.ts')], {
    stdio: ['ignore', stdout.fd, 'pipe'],
    env: {
      MUSTER_DATA_DIR: scratchDirectory('unread-log-data'),
      MUSTER_API_LISTEN: api,
      MUSTER_OPS_LISTEN: ops,
      MUSTER_DEVICE_LISTEN: '127.0.0.1:0',
      MUSTER_PANEL_LISTEN: '127.0.0.1:0',
      MUSTER_OPERATOR_TOKEN: OPERATOR_TOKEN,
    },
  });
  guard(child);
  const end = ended(child);
  const muster = { api: `http://${api}`, ops: `http://${ops}` };
  const statusOf = async (path: string): Promise<number> =>
    await call(`${muster.ops}${path}`).then(
      ({ status }) => status,
      () => 0,
    );
  await until(async () => (await statusOf('/readyz')) === 200);
  const { apiKey } = await tenant(muster);
  await createApp(muster, apiKey);
  expect(await statusOf('/livez')).toBe(200);
  expect((await call(`${muster.ops}/metrics`)).text).toContain('\nmuster_log_lines_dropped_total 0\n');
  child.kill(signal);
  expect(await end).toEqual([0, null]);
});

/** Writes more than may wait; goes on once it is told to, and ends as it is told. */
const PROGRAM = `
  import { createLog, LogOutput } from ${JSON.stringify(join(SRC, 'log.ts'))};
  let dropped = 0;
  const output = new LogOutput();
  const log = createLog('info', output);
  const write = (from, lines) => {
    for (let line = from; line < from + lines; line += 1) log.info({ line, text: 'x'.repeat(100) }, 'a night is metered');
  };
  write(0, 20_000);
  log.error({ line: -1 }, 'the last error');
  output.onDropped((lines) => (dropped += lines));
  process.once('message', () => {
    write(20_000, 1);
    process.disconnect();
  });
  process.send({ dropped });
`;

interface Told {
  readonly dropped: number;
}

function program(stdout: Pipe): ChildProcess {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
    stdio: ['ignore', stdout.fd, 'inherit', 'ipc'],
  });
  guard(child);
  return child;
}

test('1 MiB of lines waits and the others, but for errors, are dropped and counted; what waits comes in order', async () => {
  using stdout = new Pipe();
  const child = program(stdout);
  const end = ended(child);
  const [{ dropped }] = (await once(child, 'message')) as [Told];
  expect(dropped).toBeGreaterThan(5_000);
  let text = '';
  const read = (): boolean => {
    text += stdout.read();
    return text.includes(`"line":${20_000 - dropped - 1},`);
  };
  await until(read);
  child.send('go on');
  expect(await end).toEqual([0, null]);
  while (!text.endsWith('"a night is metered"}\n') || !text.includes('"line":20000,')) read();
  const lines = text
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { readonly line: number }).line);
  expect(lines).toEqual([...Array.from({ length: 20_000 - dropped }, (_, line) => line), -1, 20_000]);
});

test('a process whose log nobody reads ends all the same', async () => {
  using stdout = new Pipe();
  const child = program(stdout);
  const end = ended(child);
  await once(child, 'message');
  child.send('go on');
  expect(await end).toEqual([0, null]);
});
