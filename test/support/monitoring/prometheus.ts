import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import * as z from 'zod';
import { killAtExit } from '../run/guard.ts';
import { freePorts } from '../service/free-ports.ts';

const sample = z.object({ metric: z.record(z.string(), z.string()), value: z.tuple([z.number(), z.string()]) });
const answerSchema = z.union([
  z.object({
    status: z.literal('success'),
    data: z.object({ resultType: z.literal('vector'), result: z.array(sample) }),
  }),
  z.object({ status: z.literal('error'), error: z.string() }),
]);
const rulesSchema = z.object({
  data: z.object({
    groups: z.array(
      z.object({
        name: z.string(),
        rules: z.array(z.object({ name: z.string(), health: z.string(), lastError: z.string().optional() })),
      }),
    ),
  }),
});

interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

interface PrometheusOptions {
  readonly binary: string;
  /** Job and `host:port`. */
  readonly targets: Readonly<Record<string, readonly string[]>>;
  readonly ruleFiles: readonly string[];
}

/** A real Prometheus with a configuration and a folder of its own; it ends with the block. */
export class Prometheus implements AsyncDisposable {
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #folder: string;

  private constructor(url: string, child: ChildProcess, folder: string) {
    this.url = url;
    this.#child = child;
    this.#folder = folder;
  }

  static async start({ binary, targets, ruleFiles }: PrometheusOptions): Promise<Prometheus> {
    const folder = mkdtempSync(join(tmpdir(), 'muster-prometheus-'));
    const [port = 0] = await freePorts(1);
    const config = {
      global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
      rule_files: ruleFiles,
      scrape_configs: Object.entries(targets).map(([job, addresses]) => ({
        job_name: job,
        static_configs: [{ targets: addresses }],
      })),
    };
    writeFileSync(join(folder, 'prometheus.yml'), JSON.stringify(config));
    const child = spawn(
      binary,
      [
        `--config.file=${join(folder, 'prometheus.yml')}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    killAtExit(child);
    await new Promise<void>((resolve, reject) => {
      const log: string[] = [];
      child.once('error', reject);
      child.once('exit', (code) => reject(new Error(`prometheus ended with ${code}:\n${log.join('\n')}`)));
      createInterface({ input: child.stderr }).on('line', (line) => {
        if (log.length < 100) log.push(line);
        if (line.includes('Server is ready')) resolve();
      });
    });
    return new Prometheus(`http://127.0.0.1:${port}`, child, folder);
  }

  /** Evaluates an expression now. @throws Error with Prometheus' message where it is not valid */
  async query(expr: string): Promise<Sample[]> {
    const response = await fetch(`${this.url}/api/v1/query`, {
      method: 'POST',
      body: new URLSearchParams({ query: expr }),
    });
    const answer = answerSchema.parse(await response.json());
    if (answer.status === 'error') throw new Error(`${expr}: ${answer.error}`);
    return answer.data.result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
  }

  /** Names of the rules that are loaded, with what their last evaluation complained of. */
  async rules(): Promise<{ name: string; health: string; lastError?: string | undefined }[]> {
    const response = await fetch(`${this.url}/api/v1/rules`);
    return rulesSchema.parse(await response.json()).data.groups.flatMap(({ rules }) => rules);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const exited = once(this.#child, 'exit');
      this.#child.kill('SIGKILL');
      await exited;
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
