import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { OperatorClient } from '#client';
import { urlsOf, type Urls } from '../src/cli/connection/service-urls.ts';
import { CLIENT } from '../src/config/client-variables.ts';
import type { Service } from '../src/service/service.ts';
import { findEtcd, NO_ETCD } from '../test/support/etcd/etcd-binary.ts';
import { EtcdCluster } from '../test/support/etcd/etcd.ts';
import { guard } from '../test/support/run/guard.ts';
import type { FleetOptions } from './options.ts';

const MAIN = join(import.meta.dirname, '../src/main.ts');
/** A million devices soon reach etcd's own bound of 2 GiB, which includes its history. */
export const ETCD_QUOTA_BYTES = 8_589_934_592;
/** It, as a service has it in its environment. */
export const QUOTA_ENV = { MUSTER_ETCD_QUOTA_BYTES: String(ETCD_QUOTA_BYTES) } as const;

/** The service that the fleet enrolls with. */
export interface Target extends AsyncDisposable {
  readonly urls: Urls;
  readonly operatorToken: string;
  /** The URLs of the members of an etcd that was started here, for their metrics. */
  readonly etcdUrls: readonly string[];
}

/** Starts a service with a store of its own, which ends with it; or takes the service that the options name. */
export async function openTarget(options: FleetOptions): Promise<Target> {
  if (options.urls) return named(options.urls);
  await using opened = new AsyncDisposableStack();
  const dataDir = mkdtempSync(join(tmpdir(), 'muster-fleet-'));
  opened.defer(() => rmSync(dataDir, { recursive: true, force: true }));
  const etcd = options.store === 'etcd' ? opened.use(await startEtcd()) : undefined;
  const keyFile = join(dataDir, 'keys');
  writeFileSync(keyFile, `1:${randomBytes(32).toString('base64')}\n`, { mode: 0o600 });
  const operatorToken = randomBytes(32).toString('base64url');
  const urls = await startService(opened, operatorToken, {
    ...process.env,
    MUSTER_DATA_DIR: dataDir,
    MUSTER_STORE: etcd ? `etcd:${etcd.urls.join(',')}` : `sqlite:${join(dataDir, 'muster.db')}`,
    ...QUOTA_ENV,
    MUSTER_KEY_FILE: keyFile,
    MUSTER_OPERATOR_TOKEN: operatorToken,
    MUSTER_POLL_INTERVAL_SECONDS: String(options.interval),
    MUSTER_API_LISTEN: '127.0.0.1:0',
    MUSTER_DEVICE_LISTEN: '127.0.0.1:0',
    MUSTER_OPS_LISTEN: '127.0.0.1:0',
    MUSTER_PANEL_LISTEN: '127.0.0.1:0',
    // The log line with the ports has this level.
    MUSTER_LOG_LEVEL: 'info',
  });
  const whole = opened.move();
  return {
    urls,
    operatorToken,
    etcdUrls: etcd?.urls ?? [],
    [Symbol.asyncDispose]: () => whole.disposeAsync(),
  };
}

function named(urls: Urls): Target {
  const operatorToken = process.env[CLIENT.operatorToken] ?? '';
  if (operatorToken === '') throw new Error(`${CLIENT.operatorToken} is not set: accounts are made with it.`);
  return { urls, operatorToken, etcdUrls: [], [Symbol.asyncDispose]: async () => undefined };
}

async function startEtcd(): Promise<EtcdCluster> {
  const binary = findEtcd();
  if (binary === undefined) throw new Error(NO_ETCD);
  return await EtcdCluster.start({ binary, flags: [`--quota-backend-bytes=${ETCD_QUOTA_BYTES}`] });
}

/** Starts the service in a process of its own, so that it is measured without the fleet. */
async function startService(opened: AsyncDisposableStack, token: string, env: NodeJS.ProcessEnv): Promise<Urls> {
  // The process has a group of its own: Ctrl-C is for the fleet, which ends the service once it has its figures.
  const child = spawn(process.execPath, [MAIN], { stdio: ['ignore', 'pipe', 'inherit'], env, detached: true });
  guard(child);
  opened.defer(() => end(child));
  const urls = await listening(child);
  // It answers 503 until it is ready, which the client waits out.
  await new OperatorClient({ url: urls.ops, token }).request({ method: 'GET', path: '/readyz' });
  return urls;
}

async function listening(child: ChildProcess & { readonly stdout: NodeJS.ReadableStream }): Promise<Urls> {
  const lines = createInterface({ input: child.stdout });
  const urls = await new Promise<Urls>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`The service ended with ${code}.`)));
    lines.on('line', (line) => {
      if (line.includes('muster is listening')) resolve(urlsOf(JSON.parse(line) as Service));
    });
  });
  lines.close();
  // Its log is not needed here, but must be read, so that a full pipe does not stop the service.
  child.stdout.on('data', () => undefined).resume();
  return urls;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}
