import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { runAgent, type AgentOptions } from '../../../src/cli/agent/agent.ts';
import type { Surroundings } from '../../../src/cli/agent/surroundings.ts';
import { writeNewFile } from '../../../src/service/files/new-file.ts';
import { systemClock } from '../../../src/time/clock.ts';
import type { CreatedApp } from '../service/muster.ts';

export interface StartedAgent extends AsyncDisposable {
  /** What it said. */
  readonly said: string[];
  /** Rejects as it ends. */
  readonly ended: Promise<void>;
  /** As SIGTERM does. @returns what `ended` does */
  stop(): Promise<void>;
}

export interface AgentPlan extends Partial<AgentOptions> {
  readonly url: string;
  /** The folder of its files `credential` and `collector.yaml`. */
  readonly folder: string;
  /** Whose code it has; undefined for none. */
  readonly app?: CreatedApp | undefined;
  readonly surroundings?: Partial<Surroundings>;
}

/** The reference daemon in this process; it goes on until the block ends. */
export function startAgent({ folder, app, surroundings, ...options }: AgentPlan): StartedAgent {
  const said: string[] = [];
  const stopping = new AbortController();
  const ended = runAgent(
    {
      credentialFile: join(folder, 'credential'),
      configFile: join(folder, 'collector.yaml'),
      appId: app?.appId,
      code: app && { from: '--code-stdin', read: async () => app.enrollCode },
      connection: 'cloud',
      platform: 'linux/test',
      agentVersion: '1.0.0',
      once: false,
      collector: { pipelines: undefined, exporter: undefined },
      command: [],
      ...options,
    },
    {
      say: (text) => void said.push(text),
      clock: systemClock,
      // Retries come soon, and no test waits for chance.
      jitter: () => 0.01,
      randomBytes,
      files: {
        create: (path, text) => writeNewFile(path, { replace: false }, (put) => put(text)),
        replace: (path, text) => writeNewFile(path, { replace: true }, (put) => put(text)),
        renew: (path, text) => writeNewFile(path, { replace: true, keepGroup: true }, (put) => put(text)),
      },
      env: process.env,
      commandMs: 60_000,
      ...surroundings,
    },
    stopping.signal,
  );
  ended.catch(() => undefined);
  const stop = async (): Promise<void> => {
    stopping.abort();
    await ended;
  };
  return { said, ended, stop, [Symbol.asyncDispose]: () => stop().catch(() => undefined) };
}
