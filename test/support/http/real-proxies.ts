import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { until } from '../time/until.ts';

/* Proxies of others, as they are packaged by Debian. */

export type ProxyName = 'nginx' | 'apache2';

interface ProxyPlan {
  /** A folder of its own. */
  readonly folder: string;
  readonly port: number;
  /** Where it passes requests on, such as `http://127.0.0.1:8081`. */
  readonly target: string;
  /** Seconds that it waits for an answer. */
  readonly readSeconds: number;
  /** Seconds for which Apache keeps an idle connection to the target; for as long as that is open where not given. */
  readonly keptSeconds?: number;
  /** Further lines of the place that it passes on. */
  readonly more?: string;
}

/** The path of a proxy; undefined where it is not installed, which is a failure in CI. @throws Error in CI */
export function findProxy(name: ProxyName): string | undefined {
  try {
    // Programs for administrators are not on everybody's PATH.
    const PATH = `${process.env['PATH'] ?? ''}:/usr/sbin`;
    return execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8', env: { PATH } }).trim();
  } catch (error) {
    if (process.env['CI']) throw new Error(`CI needs ${name}.`, { cause: error });
    return undefined;
  }
}

const CONFIGS: Readonly<Record<ProxyName, (plan: ProxyPlan) => string>> = {
  nginx: ({ folder, port, target, readSeconds, more = '' }) => `
    daemon off;
    worker_processes 1;
    pid ${folder}/pid;
    error_log ${folder}/error.log;
    events {}
    http {
      log_format encoding "$sent_http_content_encoding";
      access_log ${folder}/${ENCODINGS} encoding;
      ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((of) => `${of}_temp_path ${folder}/${of};`).join('\n')}
      gzip on;
      gzip_proxied any;
      gzip_min_length 1;
      gzip_types application/json;
      server {
        listen 127.0.0.1:${port};
        location / {
          proxy_pass ${target};
          proxy_http_version 1.1;
          proxy_read_timeout ${readSeconds}s;
          ${more}
        }
      }
    }`,
  apache2: ({ folder, port, target, readSeconds, keptSeconds, more = '' }) => `
    ServerRoot ${folder}
    ServerName localhost
    PidFile ${folder}/pid
    ErrorLog ${folder}/error.log
    DefaultRuntimeDir ${folder}
    Mutex pthread
    Listen 127.0.0.1:${port}
    ${['mpm_event', 'authz_core', 'filter', 'deflate', 'headers', 'proxy', 'proxy_http']
      .map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`)
      .join('\n')}
    ${process.getuid?.() === 0 ? 'User nobody\nGroup nogroup' : ''}
    SetOutputFilter DEFLATE
    ProxyPass / ${target}/${keptSeconds === undefined ? '' : ` ttl=${keptSeconds}`}
    ProxyTimeout ${readSeconds}
    ${more}
    `,
};
const ARGUMENTS: Readonly<Record<ProxyName, (config: string) => string[]>> = {
  nginx: (config) => ['-c', config],
  apache2: (config) => ['-D', 'FOREGROUND', '-f', config],
};

/** How many answers an nginx has compressed; all of them are told once it has ended. */
export const compressedBy = (folder: string): number =>
  readFileSync(join(folder, ENCODINGS), 'utf8')
    .split('\n')
    .filter((encoding) => encoding === 'gzip').length;
const ENCODINGS = 'encodings.log';

interface RealProxy extends AsyncDisposable {
  readonly url: string;
}

/** Starts a proxy, which ends with the block. */
export async function startProxy(name: ProxyName, program: string, plan: ProxyPlan): Promise<RealProxy> {
  mkdirSync(plan.folder, { recursive: true });
  const config = join(plan.folder, 'proxy.conf');
  writeFileSync(config, CONFIGS[name](plan));
  const child = spawn(program, ARGUMENTS[name](config), { stdio: ['ignore', 'ignore', 'inherit'] });
  const ended = once(child, 'exit');
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}.`);
    return await listens(plan.port);
  });
  return {
    url: `http://127.0.0.1:${plan.port}`,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
