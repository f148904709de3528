import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import { request as requestTls } from 'node:https';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { guard } from '../run/guard.ts';
import { until } from '../time/until.ts';
import { COMPILED } from './compiled.ts';
import { OPERATOR_TOKEN } from './muster.ts';

const MAIN = join(import.meta.dirname, '../../../src/main.ts');

export interface Addresses {
  readonly api: string;
  readonly device: string;
  readonly ops: string;
  /** Empty where it is off, as in an earlier version. */
  readonly panel: string;
}

/** `node src/main.ts` as a process of its own, on ports that it chooses; killed with the block or with this process. */
export class MusterProcess implements Addresses, AsyncDisposable {
  readonly api: string;
  readonly device: string;
  readonly ops: string;
  readonly panel: string;
  readonly logged: string[];
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, logged: string[], addresses: Addresses) {
    this.#child = child;
    this.logged = logged;
    ({ api: this.api, device: this.device, ops: this.ops, panel: this.panel } = addresses);
  }

  /**
   * @param entry what to run in place of the service as it is
   * @param under a command that ends by running what follows it in its own place
   */
  static async start(
    env: Readonly<Record<string, string>>,
    entry = MAIN,
    under: readonly string[] = [],
  ): Promise<MusterProcess> {
    const [command, ...words] = [...under, process.execPath, entry];
    const child = spawn(command, words, {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        PATH: process.env['PATH'],
        ...COMPILED,
        MUSTER_API_LISTEN: '127.0.0.1:0',
        MUSTER_DEVICE_LISTEN: '127.0.0.1:0',
        MUSTER_OPS_LISTEN: '127.0.0.1:0',
        MUSTER_PANEL_LISTEN: '127.0.0.1:0',
        MUSTER_OPERATOR_TOKEN: OPERATOR_TOKEN,
        ...env,
      },
    });
    guard(child);
    const logged: string[] = [];
    const addresses = await new Promise<Addresses>((resolve, reject) => {
      child.once('exit', (code) => reject(new Error(`muster ended with ${code}:\n${logged.slice(-20).join('\n')}`)));
      createInterface({ input: child.stdout }).on('line', (line) => {
        logged.push(line);
        const listening = addressesIn(line, env);
        if (listening) resolve(listening);
      });
    });
    const muster = new MusterProcess(child, logged, addresses);
    await until(async () => (await statusOf(`${muster.ops}/readyz`)) === 200);
    return muster;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Alive to the network, and doing nothing. */
  freeze(): void {
    this.#child.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child.kill('SIGCONT');
  }

  /** @returns the exit code, or the signal */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | string | null> {
    const ended = this.ended();
    this.#child.kill(signal);
    return await ended;
  }

  /** Resolves when it ends by itself. @returns the exit code, or the signal */
  async ended(): Promise<number | string | null> {
    const { exitCode, signalCode } = this.#child;
    if (exitCode !== null || signalCode !== null) return exitCode ?? signalCode;
    const [code, by] = (await once(this.#child, 'exit')) as [number | null, string | null];
    return code ?? by;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end('SIGKILL');
  }
}

/** A certificate of tests is of no authority that anybody trusts. */
function statusOf(url: string): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const asked = url.startsWith('https:')
    ? requestTls(url, { rejectUnauthorized: false, agent: false })
    : request(url, { agent: false });
  asked.on('response', (response) => resolve(response.resume().statusCode));
  asked.on('error', reject).end();
  return promise;
}

function addressesIn(line: string, env: Readonly<Record<string, string>>): Addresses | undefined {
  if (!line.includes('muster is listening')) return undefined;
  const told = JSON.parse(line) as Partial<Record<keyof Addresses, { host: string; port: number }>>;
  const url = (name: keyof Addresses): string => {
    const scheme = env[`MUSTER_${name.toUpperCase()}_TLS_CERT_FILE`] === undefined ? 'http' : 'https';
    return told[name] ? `${scheme}://${told[name].host}:${told[name].port}` : '';
  };
  return { api: url('api'), device: url('device'), ops: url('ops'), panel: url('panel') };
}
