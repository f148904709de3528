import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import process from 'node:process';
import { OperatorClient } from '#client';
import type { Urls } from '../src/cli/connection/service-urls.ts';
import { guard } from '../test/support/run/guard.ts';
import { until } from '../test/support/time/until.ts';
import { callerEnvironment } from './caller-environment.ts';

/** The settings of a replica; it has the same places each time it starts. */
export interface Launch {
  readonly urls: Urls;
  readonly env: Readonly<Record<string, string>>;
  /** Its log goes to the end of this file. */
  readonly log: string;
}

/** A replica in a process of its own, which ends with the block. */
export class Replica implements AsyncDisposable {
  readonly urls: Urls;
  readonly #child: ChildProcess;

  private constructor(urls: Urls, child: ChildProcess) {
    this.urls = urls;
    this.#child = child;
  }

  /** @param entry what to run; @param token the operator token. Resolves when it is ready. */
  static async start({ urls, env, log }: Launch, entry: string, token: string): Promise<Replica> {
    const output = openSync(log, 'a');
    const child = spawn(process.execPath, [entry], {
      stdio: ['ignore', output, 'inherit'],
      env: { ...callerEnvironment(), ...env, MUSTER_OPERATOR_TOKEN: token },
      detached: true,
    });
    closeSync(output);
    guard(child);
    const replica = new Replica(urls, child);
    const operator = new OperatorClient({ url: urls.ops, token });
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`The replica ended with ${child.exitCode}: ${log} has why.`);
      return await operator.request({ method: 'GET', path: '/readyz' }).then(
        () => true,
        () => false,
      );
    });
    return replica;
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill(signal);
    await exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end('SIGKILL');
  }
}
