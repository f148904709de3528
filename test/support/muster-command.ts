import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { OPERATOR_TOKEN, type Muster } from './muster.ts';

export const MAIN = join(import.meta.dirname, '../../src/cli/main.ts');

export interface Ended {
  readonly code: number | string | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** `muster …` as a process of its own, with nothing in its environment but what is given. */
export function musterProcess(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): { readonly child: ChildProcess; readonly ended: Promise<Ended> } {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'], env });
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

/** What leads the command to a running service. */
export const connectedTo = ({ ops }: Pick<Muster, 'ops'>): Record<string, string> => ({
  MUSTER_OPS_URL: ops,
  MUSTER_OPERATOR_TOKEN: OPERATOR_TOKEN,
});
