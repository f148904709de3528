import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { killAtExit } from '../test/support/run/guard.ts';
import { callerEnvironment } from './caller-environment.ts';

/* The commands of a section of docs/RUNBOOK.md, and the shell in which they run against a drill. */

const ROOT = join(import.meta.dirname, '..');
const COMMAND_MS_MAX = 30_000;

/** @throws Error where the runbook has no such section */
export function commandsOf(alert: string): readonly string[] {
  const runbook = readFileSync(join(ROOT, 'docs/RUNBOOK.md'), 'utf8');
  const section = runbook.split(/^## /m).find((one) => one.startsWith(`${alert}\n`));
  const [, commands] = /```sh\n(.*?)```/s.exec(section ?? '') ?? [];
  if (commands === undefined) throw new Error(`docs/RUNBOOK.md has no commands for ${alert}.`);
  return commands.trimEnd().split('\n');
}

/** The settings of the runbook's first block, as a drill has them. */
export interface Settings {
  readonly ops: string;
  readonly prometheus: string;
  readonly etcd: string;
  readonly accountId: string;
  readonly operatorToken: string;
  /** A folder with the replicas' logs. */
  readonly logs: string;
}

/** A kubectl of this machine would ask somebody's cluster. */
const SHELL = `
query() { promtool query instant "$PROM" "$1"; }
logs() { cat "$LOGS"/*.log; }
muster() { "$NODE" "$ROOT/bin/muster.mjs" "$@"; }
kubectl() { echo 'not here: the replicas of a drill are processes'; }
command_not_found_handle() { echo "not here: $1 is not on this machine"; }
`;

/** Runs a command of the runbook. @returns what it printed, at its end what it complained of */
export async function run(command: string, settings: Settings): Promise<string> {
  const child = spawn('bash', ['-c', `${SHELL}${command}`], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // What it starts is in its process group, and ends with it.
    detached: true,
    env: {
      ...callerEnvironment(),
      // No context of the caller's decides which service a command asks.
      XDG_CONFIG_HOME: settings.logs,
      ROOT,
      NODE: process.execPath,
      LOGS: settings.logs,
      OPS: settings.ops,
      PROM: settings.prometheus,
      ETCD: settings.etcd,
      ACCOUNT: settings.accountId,
      TOKEN: settings.operatorToken,
      MUSTER_CLIENT_OPS_URL: settings.ops,
      MUSTER_CLIENT_OPERATOR_TOKEN: settings.operatorToken,
    },
  });
  const kill = (): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // All of the group has ended.
    }
  };
  killAtExit(child, kill);
  const expiry = setTimeout(kill, COMMAND_MS_MAX);
  const [printed, complained] = await Promise.all([text(child.stdout), text(child.stderr)]);
  clearTimeout(expiry);
  return `${printed}${complained}`.trimEnd();
}
