import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { vi } from 'vitest';
import { runMuster } from '../../../src/cli/program.ts';
import { failed } from '../../../src/cli/terminal/exit.ts';
import { killAtExit } from '../run/guard.ts';
import { COMPILED } from './compiled.ts';
import { OPERATOR_TOKEN, type Muster } from './muster.ts';

/** The folder in which `musterHere` runs, unless a test is in a folder of its own: no service is started there. */
export const NO_SERVICE_FOLDER = '/';

const REPOSITORY = join(import.meta.dirname, '../../..');

export const MAIN = join(import.meta.dirname, '../../../src/cli/main.ts');

export interface Ended {
  readonly code: number | string | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * `muster …` as a process of its own, with nothing in its environment that it reads but what is given.
 * @param stdin all of its input; without it there is none
 * @param under a command that ends by running what follows it in its own place
 */
export function musterProcess(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  { stdin, under = [] }: { readonly stdin?: string; readonly under?: readonly string[] } = {},
): { readonly child: ChildProcess; readonly ended: Promise<Ended> } {
  const [command = '', ...words] = [...under, process.execPath, MAIN, ...args];
  const child = spawn(command, words, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...COMPILED, ...env },
  });
  // A command that does not read it may have ended before it is written.
  child.stdin.on('error', () => undefined).end(stdin);
  killAtExit(child);
  const closed = new Promise<number | string | null>((resolve) => {
    child.once('close', (code, signal) => resolve(code ?? signal));
  });
  const ended = Promise.all([text(child.stdout), text(child.stderr), closed]).then(([stdout, stderr, code]) => ({
    code,
    stdout,
    stderr,
  }));
  return { child, ended };
}

/** A command that runs what follows it with a limit of open files, soft and hard. */
export const withOpenFiles = (max: number): readonly string[] => ['/bin/sh', '-c', `ulimit -n ${max}; exec "$0" "$@"`];

export const musterCommand = (args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ended> =>
  musterProcess(args, env).ended;

/**
 * `muster …` in this process, one at a time: the same program with the same words and exit codes, at a fortieth of the
 * processor time. What is about the process itself (signals, pipes, who holds a store) takes `musterCommand`.
 *
 * It runs in a folder without a service: that of the repository keeps the secrets of an earlier `npm start`.
 */
export async function musterHere(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const before = process.exitCode;
  using stdout = caught(process.stdout);
  using stderr = caught(process.stderr);
  const here = process.cwd();
  const cwd = vi.spyOn(process, 'cwd').mockReturnValue(here === REPOSITORY ? NO_SERVICE_FOLDER : here);
  try {
    process.exitCode = 0;
    await runMuster(env, args).catch((error: unknown) => failed(error));
    return { code: process.exitCode, stdout: stdout.text(), stderr: stderr.text() };
  } finally {
    process.exitCode = before;
    cwd.mockRestore();
  }
}

/** Keeps what is written to the stream, up to the end of the block. */
function caught(stream: NodeJS.WriteStream): Disposable & { readonly text: () => string } {
  const chunks: Buffer[] = [];
  const spy = vi.spyOn(stream, 'write').mockImplementation((chunk, ...rest) => {
    chunks.push(Buffer.from(chunk));
    const written = rest.find((argument) => typeof argument === 'function');
    written?.();
    return true;
  });
  return { text: () => Buffer.concat(chunks).toString(), [Symbol.dispose]: () => spy.mockRestore() };
}

/** The environment of a service that was not started: nobody listens at port 9, and `0` is always free. */
export const notStarted = (dataDir: string): Record<string, string> => ({
  MUSTER_DATA_DIR: dataDir,
  MUSTER_CLIENT_OPS_URL: 'http://127.0.0.1:9',
  MUSTER_API_LISTEN: '127.0.0.1:0',
  MUSTER_DEVICE_LISTEN: '127.0.0.1:0',
  MUSTER_OPS_LISTEN: '127.0.0.1:0',
  MUSTER_PANEL_LISTEN: '127.0.0.1:0',
});

/** The environment that leads the command to a running service. */
export const connectedTo = ({ ops }: Pick<Muster, 'ops'>): Record<string, string> => ({
  MUSTER_CLIENT_OPS_URL: ops,
  MUSTER_CLIENT_OPERATOR_TOKEN: OPERATOR_TOKEN,
});

/** The environment that leads the command to `/v1` of a running service, by an owner's key. */
export const ownedBy = ({ api }: Pick<Muster, 'api'>, apiKey: string): Record<string, string> => ({
  MUSTER_CLIENT_URL: api,
  MUSTER_CLIENT_API_KEY: apiKey,
});
