import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { OperatorClient } from '#client';

/*
 * `npm run bench:scrape [-- FOLDER]`: what a scrape of /metrics costs a replica with 10,000 accounts and 10,000 open
 * connections: processor time, how long it keeps the event loop from others, and bytes. With the folder of another
 * checkout the same is measured of that one, in turns, as the baseline.
 */

const ACCOUNTS = Number(process.env['BENCH_ACCOUNTS'] ?? 10_000);
const CONNECTIONS = Number(process.env['BENCH_CONNECTIONS'] ?? 9_900);
const SCRAPES = 30;
/** A scrape that comes right after another waits. */
const PAUSE_MS = 400;
const TOKEN = 'operator-token-of-the-benchmark-0123456789';
const TICKS_PER_SECOND = 100;

interface Replica {
  readonly pid: number;
  readonly api: string;
  readonly ops: string;
  end(): Promise<void>;
}

async function started(root: string): Promise<Replica> {
  const dataDir = mkdtempSync(join(tmpdir(), 'muster-scrape-'));
  const child = spawn(process.execPath, [join(root, 'src/main.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: process.env['PATH'],
      MUSTER_DATA_DIR: dataDir,
      MUSTER_OPERATOR_TOKEN: TOKEN,
      MUSTER_API_LISTEN: '127.0.0.1:0',
      MUSTER_DEVICE_LISTEN: '127.0.0.1:0',
      MUSTER_OPS_LISTEN: '127.0.0.1:0',
      MUSTER_PANEL_LISTEN: '127.0.0.1:0',
      MUSTER_API_CONNECTIONS_PER_ADDRESS: '0',
      MUSTER_OPS_CONNECTIONS_PER_ADDRESS: '0',
    },
  });
  const listening = Promise.withResolvers<{ api: string; ops: string }>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (!line.includes('muster is listening')) return;
    const { api, ops } = JSON.parse(line) as Record<'api' | 'ops', { host: string; port: number }>;
    listening.resolve({ api: `${api.host}:${api.port}`, ops: `http://${ops.host}:${ops.port}` });
  });
  const addresses = await listening.promise;
  return {
    pid: child.pid ?? 0,
    ...addresses,
    async end() {
      child.kill('SIGKILL');
      await once(child, 'exit');
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Makes the accounts, and opens raw connections that have authenticated and are idle now. */
async function fill({ api, ops }: Replica): Promise<void> {
  const operator = new OperatorClient({ url: ops, token: TOKEN });
  let left = ACCOUNTS;
  let account = '';
  const worker = async (): Promise<void> => {
    while ((left -= 1) >= 0) account = (await operator.createAccount({ name: 'a', entitlement: 'standard' })).accountId;
  };
  await Promise.all(Array.from({ length: 50 }, worker));
  const { apiKey: key } = await operator.createApiKey(account);
  const [host = '', port = ''] = api.split(':');
  for (let opened = 0; opened < CONNECTIONS;) {
    const some = Array.from({ length: Math.min(100, CONNECTIONS - opened) }, async () => {
      const socket = connect(Number(port), host);
      socket.write(`GET /v1/apps HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n\r\n`);
      await once(socket, 'data');
    });
    await Promise.all(some);
    opened += some.length;
  }
}

/** User and system time of a process, in milliseconds. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_PER_SECOND;
}

/** Waits until the work that the accounts have caused is done. @returns what the replica then computes in that time */
async function calmed(pid: number): Promise<number> {
  for (;;) {
    const before = cpuMs(pid);
    await pause(SCRAPES * PAUSE_MS);
    const spent = cpuMs(pid) - before;
    if (spent < SCRAPES * PAUSE_MS * 0.02) return spent;
  }
}

const pause = (ms: number): Promise<void> => new Promise((done) => void setTimeout(done, ms));

/** Asks for /livez without a pause: the longest answer tells how long the event loop was kept. */
function watched(ops: string): () => Promise<number> {
  const over = new AbortController();
  let longest = 0;
  const watching = (async () => {
    while (!over.signal.aborted) {
      const begun = performance.now();
      await (await fetch(`${ops}/livez`)).text();
      longest = Math.max(longest, performance.now() - begun);
      await pause(1);
    }
  })();
  return async () => {
    over.abort();
    await watching;
    return longest;
  };
}

async function measured(root: string): Promise<void> {
  const replica = await started(root);
  try {
    await fill(replica);
    const scrape = async (headers: Record<string, string>): Promise<number> => {
      const response = await fetch(`${replica.ops}/metrics`, { headers });
      const bytes = (await response.arrayBuffer()).byteLength;
      return Number(response.headers.get('content-length') ?? bytes);
    };
    await scrape({});
    const idle = await calmed(replica.pid);
    const before = cpuMs(replica.pid);
    for (let n = 0; n < SCRAPES; n += 1) {
      await scrape({ 'accept-encoding': 'identity' });
      await pause(PAUSE_MS);
    }
    const cpu = (cpuMs(replica.pid) - before - idle) / SCRAPES;
    const longest: number[] = [];
    for (let n = 0; n < 10; n += 1) {
      const end = watched(replica.ops);
      await pause(50);
      await scrape({ 'accept-encoding': 'identity' });
      longest.push(await end());
      await pause(PAUSE_MS);
    }
    const [plain, gzip] = [
      await scrape({ 'accept-encoding': 'identity' }),
      await scrape({ 'accept-encoding': 'gzip' }),
    ];
    const middle = longest.toSorted((one, other) => one - other)[5] ?? 0;
    process.stdout.write(
      `${root}: ${cpu.toFixed(1)} ms of the processor a scrape, /livez late by ${middle.toFixed(0)} ms (median of 10), ` +
        `${plain} bytes, ${gzip} under gzip\n`,
    );
  } finally {
    await replica.end();
  }
}

const own = resolve(import.meta.dirname, '..');
const [baseline] = process.argv.slice(2);
for (const root of baseline === undefined ? [own] : [resolve(baseline), own, resolve(baseline), own])
  await measured(root);
process.exit(0);
