import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { vi } from 'vitest';
import { muster } from '../../../src/cli/program.ts';
import { failed } from '../../../src/cli/terminal/exit.ts';
import { COMPILED } from './compiled.ts';
import { OPERATOR_TOKEN, type Muster } from './muster.ts';

export const MAIN = join(import.meta.dirname, '../../../src/cli/main.ts');

export interface Ended {
  readonly code: number | string | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** `muster …` as a process of its own, with nothing in its environment that it reads but what is given. */
export function musterProcess(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): { readonly child: ChildProcess; readonly ended: Promise<Ended> } {
  const child = spawn(process.execPath, [MAIN, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...COMPILED, ...env },
  });
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  const closed = new Promise<number | string | null>((resolve) => {
    child.once('close', (code, signal) => resolve(code ?? signal));
  });
  const ended = Promise.all([text(child.stdout), text(child.stderr), closed]).then(([stdout, stderr, code]) => {
    process.off('exit', kill);
    return { code, stdout, stderr };
  });
  return { child, ended };
}

export const musterCommand = (args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ended> =>
  musterProcess(args, env).ended;

/**
 * `muster …` in this process, one at a time: the same program with the same words and exit codes, at a fortieth of the
 * processor time. What is about the process itself (signals, pipes, who holds a store) takes `musterCommand`.
 */
export async function musterHere(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const before = process.exitCode;
  using stdout = caught(process.stdout);
  using stderr = caught(process.stderr);
  try {
    process.exitCode = 0;
    await muster(env)
      .parseAsync(args, { from: 'user' })
      .catch((error: unknown) => failed(error));
    return { code: process.exitCode, stdout: stdout.text(), stderr: stderr.text() };
  } finally {
    process.exitCode = before;
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

/** The environment that leads the command to a running service. */
export const connectedTo = ({ ops }: Pick<Muster, 'ops'>): Record<string, string> => ({
  MUSTER_OPS_URL: ops,
  MUSTER_OPERATOR_TOKEN: OPERATOR_TOKEN,
});
