import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { killAtExit } from '../run/guard.ts';
import { COMPILED } from '../service/compiled.ts';
import { MAIN } from '../service/muster-command.ts';

/* A shell into which a person pastes a command of the panel, and then the code. */

interface Shell {
  /** The folder in which it runs; `bin` in it has what `programs` named. */
  readonly folder: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Puts programs into the folder's `bin`, beside `muster`. @param programs by their names: a path, or a script */
export function putPrograms(folder: string, programs: Readonly<Record<string, string>> = {}): void {
  const bin = join(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  const muster = `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`;
  for (const [name, what] of Object.entries({ muster, ...programs })) {
    const path = join(bin, name);
    if (!what.startsWith('#!')) symlinkSync(what, path);
    else writeFileSync(path, what);
    if (what.startsWith('#!')) chmodSync(path, 0o755);
  }
}

/** A command that runs. */
export class Pasted implements AsyncDisposable {
  said = '';
  readonly ended: Promise<number | null>;
  readonly #child: ChildProcess;

  /** @param line typed once the command has begun; the terminal stays open behind it, as that of a person does */
  constructor(text: string, { folder, env = {} }: Shell, line?: string) {
    this.#child = spawn('/bin/sh', ['-c', text], {
      cwd: folder,
      stdio: ['pipe', 'pipe', 'pipe'],
      // A group of its own, so that all of it can be ended.
      detached: true,
      env: {
        ...COMPILED,
        HOME: folder,
        PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}`,
        ...env,
      },
    });
    killAtExit(this.#child, () => this.#end('SIGKILL'));
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on('data', (chunk: Buffer) => (this.said += chunk.toString()));
    }
    this.#child.stdin?.on('error', () => undefined);
    if (line !== undefined) this.#child.stdin?.write(`${line}\n`);
    this.ended = once(this.#child, 'close').then(([code]) => code as number | null);
  }

  #end(signal: NodeJS.Signals): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      process.kill(-pid, signal);
    } catch {
      // All of it has ended.
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin?.end();
    // The one signal upon which a supervisor ends its collector.
    this.#end('SIGINT');
    await this.ended;
  }
}
