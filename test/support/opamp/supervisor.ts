import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { parse } from 'yaml';
import * as z from 'zod';
import { RemoteConfigStatuses } from '../../../src/opamp/generated/opamp_pb.ts';
import { guard } from '../run/guard.ts';
import type { CreatedApp } from '../service/muster.ts';
import { musterProcess } from '../service/muster-command.ts';
import { until } from '../time/until.ts';
import type { CollectorPrograms } from './peers.ts';

/**
 * The supervisor waits so long for the first word of its collector; its own 3 s are less than a busy machine may take.
 */
const BOOTSTRAP_TIMEOUT = '60s';

const STATE = z.object({
  last_remote_config_status: z.object({ status: z.number(), last_remote_config_hash: z.string() }).optional(),
});

interface SupervisorPlan {
  readonly programs: CollectorPrograms;
  /** The folder of its file, its storage and its log; `muster agent enroll --opamp` makes it. */
  readonly folder: string;
  /** The device listener. */
  readonly device: string;
  readonly app: CreatedApp;
  /** The operator's own files of the collector. */
  readonly configFiles?: readonly string[];
}

/** The stock supervisor with its collector, on a machine that `muster agent enroll` enrolled. */
export class Supervisor implements AsyncDisposable {
  /** Each line that it logged. */
  readonly logged: string[] = [];
  readonly storage: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;

  private constructor(program: string, folder: string) {
    this.storage = join(folder, 'storage');
    const child = spawn(program, ['--config', join(folder, 'supervisor.yaml')], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'] ?? '/' },
    });
    guard(child);
    this.#child = child;
    this.#ended = once(child, 'exit');
    for (const input of [child.stdout, child.stderr]) {
      createInterface({ input }).on('line', (line) => void this.logged.push(line));
    }
  }

  /** Enrolls with the app's code, and starts the supervisor. @throws Error where the enrollment fails */
  static async start({ programs, folder, device, app, configFiles = [] }: SupervisorPlan): Promise<Supervisor> {
    const words = ['agent', 'enroll', '--opamp', folder, '--app', app.appId, '--code-stdin', '--device-url', device];
    const files = configFiles.flatMap((path) => ['--config-file', path]);
    const args = [...words, '--executable', programs.collector, ...files];
    const { code, stderr } = await musterProcess(args, {}, { stdin: `${app.enrollCode}\n` }).ended;
    if (code !== 0) throw new Error(`muster agent enroll: ${code}\n${stderr}`);
    const file = join(folder, 'supervisor.yaml');
    writeFileSync(file, forTests(readFileSync(file, 'utf8')));
    return new Supervisor(programs.supervisor, folder);
  }

  /** How many lines of its log hold the text. */
  says(text: string): number {
    return this.logged.filter((line) => line.includes(text)).length;
  }

  /** Resolves once its log holds the text so many times. */
  async said(text: string, times = 1): Promise<void> {
    await until(() => {
      if (this.#child.exitCode !== null) throw new Error(`the supervisor ended:\n${this.logged.slice(-20).join('\n')}`);
      return this.says(text) >= times;
    });
  }

  /** The files of its storage that hold the text. */
  filesWith(text: string): string[] {
    return readdirSync(this.storage, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name))
      .filter((path) => readFileSync(path).includes(text));
  }

  /** What its collector runs: the configuration of the fleet merged with the operator's own. */
  effective(): string {
    return readFileSync(join(this.storage, 'effective.yaml'), 'utf8');
  }

  /** The hash of the configuration that it says it has applied; undefined where it has not, or not yet. */
  applied(): string | undefined {
    const { last_remote_config_status: last } = STATE.parse(
      parse(readFileSync(join(this.storage, 'persistent_state.yaml'), 'utf8')),
    );
    return last?.status === RemoteConfigStatuses.APPLIED
      ? Buffer.from(last.last_remote_config_hash, 'hex').toString()
      : undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The one signal upon which it ends its collector; that one would notice its absence after seconds.
    this.#child.kill('SIGINT');
    await this.#ended;
  }
}

/**
 * On a busy machine the supervisor may not read whether its collector knows this gate, which it then does not pass, so
 * that a collector without pipelines ends.
 */
const NO_PIPELINES = "  args: ['--feature-gates=service.AllowNoPipelines']\n";

/** Muster's file with patience for a busy machine, and with a log that tells of each start of the collector. */
function forTests(text: string): string {
  const patient = text.replace('\nagent:\n', `\nagent:\n  bootstrap_timeout: ${BOOTSTRAP_TIMEOUT}\n${NO_PIPELINES}`);
  return `${patient}telemetry:\n  logs:\n    level: debug\n`;
}

/** A collector of its own, which prints every span that it gets. */
export class DebugCollector implements AsyncDisposable {
  /** Each line that it printed. */
  readonly printed: string[] = [];
  /** What an exporter has as its endpoint. */
  readonly endpoint: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;

  private constructor(child: ChildProcess, endpoint: string) {
    this.#child = child;
    this.endpoint = endpoint;
    this.#ended = once(child, 'exit');
    for (const input of [child.stdout, child.stderr]) {
      if (input) createInterface({ input }).on('line', (line) => void this.printed.push(line));
    }
  }

  /** @param folder where its file is written */
  static async start({ collector }: CollectorPrograms, folder: string, port: number): Promise<DebugCollector> {
    const file = join(folder, 'debug-collector.yaml');
    const address = `127.0.0.1:${port}`;
    writeFileSync(
      file,
      JSON.stringify({
        receivers: { otlp: { protocols: { http: { endpoint: address } } } },
        exporters: { debug: { verbosity: 'detailed' } },
        service: {
          // The supervised collector beside it has the port of these metrics.
          telemetry: { metrics: { level: 'none' } },
          pipelines: { traces: { receivers: ['otlp'], exporters: ['debug'] } },
        },
      }),
    );
    const child = spawn(collector, ['--config', file], { stdio: ['ignore', 'pipe', 'pipe'] });
    guard(child);
    const started = new DebugCollector(child, `http://${address}`);
    await until(() => started.printed.some((line) => line.includes('Everything is ready')));
    return started;
  }

  /** Resolves once it has printed the text. */
  async printedText(text: string): Promise<void> {
    await until(() => this.printed.some((line) => line.includes(text)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGTERM');
    await this.#ended;
  }
}
