import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { guard } from '../run/guard.ts';
import { scratchDirectory } from '../run/scratch-directory.ts';
import { freePorts } from '../service/free-ports.ts';
import { until } from '../time/until.ts';

const SCRIPT = join(import.meta.dirname, '../../../.ci/build-caddy.sh');

/**
 * The Caddy that .ci/build-caddy.sh built, or builds now; undefined where there is no Go.
 * @throws Error in CI, where there is none
 */
export function findCaddy(): string | undefined {
  try {
    return execFileSync(SCRIPT, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
  } catch (error) {
    if (process.env['CI']) throw new Error('CI needs Caddy: install Go.', { cause: error });
    return undefined;
  }
}

/** Why the tests behind Caddy are skipped, to be printed where they are. */
export const NO_CADDY = 'no Caddy: put Go on the PATH, and run .ci/build-caddy.sh';

/** Caddy before one address, killed with the block or with this process. */
export class Caddy implements AsyncDisposable {
  readonly url: string;
  readonly #end: () => Promise<void>;

  private constructor(url: string, end: () => Promise<void>) {
    this.url = url;
    this.#end = end;
  }

  /** @param transport lines of the Caddyfile, as in `keepalive 6s`; none is Caddy as it is */
  static async before(program: string, upstream: string, transport: readonly string[] = []): Promise<Caddy> {
    const [port = 0] = await freePorts(1);
    const folder = scratchDirectory('caddy');
    const path = join(folder, 'Caddyfile');
    const url = `http://127.0.0.1:${port}`;
    const options = ['admin off', 'persist_config off', 'auto_https off', 'log {\noutput discard\n}'];
    const proxy = `reverse_proxy ${upstream} {\ntransport http {\n${transport.join('\n')}\n}\n}`;
    writeFileSync(path, `{\n${options.join('\n')}\n}\n${url} {\n${proxy}\n}\n`);
    const child = spawn(program, ['run', '--config', path, '--adapter', 'caddyfile'], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { PATH: process.env['PATH'], HOME: folder },
    });
    guard(child);
    const ended = once(child, 'exit');
    const caddy = new Caddy(url, async () => {
      child.kill('SIGKILL');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    });
    await until(() =>
      fetch(url).then(
        () => true,
        () => false,
      ),
    );
    return caddy;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end();
  }
}
