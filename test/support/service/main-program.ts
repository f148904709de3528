import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { guard } from '../run/guard.ts';
import { COMPILED } from './compiled.ts';
import type { Addresses } from './muster-process.ts';
import { OPERATOR_TOKEN } from './muster.ts';

const MAIN = [join(import.meta.dirname, '../../../src/main.ts')];

interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

/**
 * `node src/main.ts`, or another program that serves, with all that it says and how it ends, whether it comes to listen
 * or not.
 */
export class MainProgram implements AsyncDisposable {
  readonly stdout: string[] = [];
  /** Rejects where it ends before. */
  readonly listening: Promise<Addresses>;
  readonly exited: Promise<Exit>;
  stderr = '';
  readonly #child: ChildProcess;

  constructor(env: Readonly<Record<string, string>>, nodeArguments: readonly string[] = [], program = MAIN) {
    const child = spawn(process.execPath, [...nodeArguments, ...program], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
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
    this.#child = child;
    child.stderr.on('data', (chunk: Buffer) => (this.stderr += chunk.toString()));
    this.exited = new Promise((resolve) => child.once('close', (code, signal) => resolve({ code, signal })));
    const { promise, resolve, reject } = Promise.withResolvers<Addresses>();
    createInterface({ input: child.stdout }).on('line', (line) => {
      this.stdout.push(line);
      if (line.includes('muster is listening')) resolve(addresses(line));
    });
    child.once('close', () => reject(new Error(`it ended before it listened: ${this.stderr}`)));
    promise.catch(() => undefined);
    this.listening = promise;
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kill('SIGKILL');
    await this.exited;
  }
}

function addresses(line: string): Addresses {
  const addresses = JSON.parse(line) as Record<keyof Addresses, { host: string; port: number }>;
  const url = (name: keyof Addresses): string => `http://${addresses[name].host}:${addresses[name].port}`;
  return { api: url('api'), device: url('device'), ops: url('ops'), panel: url('panel') };
}
