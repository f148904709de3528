import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import * as z from 'zod';
import { guard } from '../run/guard.ts';
import { toolsFolder } from '../run/tools-folder.ts';

/* Clients of the standard libraries of others, in processes of their own, which keep their connections. */

/** Requests on connections that are kept: each connection sends one in its interval. */
interface Job {
  readonly url: string;
  readonly token: string;
  /** The interval of each connection. */
  readonly intervalsMs: readonly number[];
  /** Requests on each connection. */
  readonly rounds: number;
  /** Of a POST, which Go sends; Python sends GET. */
  readonly body?: string;
}

const told = z.object({
  requests: z.number(),
  /** Connections that were opened: those of the job, and one for each that was found closed. */
  connections: z.number(),
  /** Requests that got no answer. */
  broken: z.number(),
  statuses: z.record(z.string(), z.number()),
  /** What the client says of those. */
  faults: z.record(z.string(), z.number()),
});
export type Told = z.infer<typeof told>;

/** Runs the job to its end. */
export type KeptClient = (job: Job) => Promise<Told>;

const found = (program: string, ...version: string[]): boolean => {
  try {
    execFileSync(program, version, { stdio: 'ignore' });
    return true;
  } catch (error) {
    if (process.env['CI']) throw new Error(`CI needs ${program}.`, { cause: error });
    return false;
  }
};

/** Why the tests of the clients are skipped, to be printed where they are. */
export const NO_CLIENTS = 'no Python 3 or no Go on the PATH';

/** The clients; undefined where Python or Go is missing. @throws Error in CI, where one is */
export function findClients(): { readonly python: KeptClient; readonly go: KeptClient } | undefined {
  if (!found('python3', '--version') || !found('go', 'version')) return undefined;
  const [python, go] = ['kept_connections.py', 'kept_connections.go'].map((name) => join(import.meta.dirname, name));
  const program = built(go ?? '');
  return { python: (job) => run('python3', [python ?? ''], job), go: (job) => run(program, [], job) };
}

/** The program of a source, which is compiled once. */
function built(source: string): string {
  const bin = join(toolsFolder(), 'bin');
  const name = createHash('sha256').update(readFileSync(source)).digest('hex').slice(0, 12);
  const program = join(bin, `kept-connections-${name}`);
  if (existsSync(program)) return program;
  mkdirSync(bin, { recursive: true });
  // Another build may be under way, and a build may be cut off: only a whole binary gets the name.
  const fresh = `${program}.${process.pid}`;
  execFileSync('go', ['build', '-trimpath', '-o', fresh, source], {
    env: { ...process.env, CGO_ENABLED: '0' },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  renameSync(fresh, program);
  return program;
}

async function run(program: string, args: readonly string[], job: Job): Promise<Told> {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'], env: { PATH: process.env['PATH'] } });
  guard(child);
  const ended = once(child, 'exit');
  // Not as an argument, which every process of the machine can read.
  child.stdin.end(JSON.stringify(job));
  const answered = await text(child.stdout);
  const [code] = (await ended) as [number | null];
  if (code !== 0) throw new Error(`${program} ended with ${code}`);
  return told.parse(JSON.parse(answered));
}
