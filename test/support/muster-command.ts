import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { OPERATOR_TOKEN, type Muster } from './muster.ts';

const MAIN = join(import.meta.dirname, '../../src/cli/main.ts');

export interface Ended {
  readonly code: number | string | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** `muster …` as a process of its own, with nothing in its environment but what is given. */
export async function musterCommand(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'], env });
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  const ended = new Promise<number | string | null>((resolve) => {
    child.once('close', (code, signal) => resolve(code ?? signal));
  });
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  process.off('exit', kill);
  return { code, stdout, stderr };
}

/** What leads the command to a running service. */
export const connectedTo = ({ ops }: Pick<Muster, 'ops'>): Record<string, string> => ({
  MUSTER_OPS_URL: ops,
  MUSTER_OPERATOR_TOKEN: OPERATOR_TOKEN,
});
