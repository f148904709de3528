import { rmSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import { pollIntervalAt } from '../../../src/time/poll-interval.ts';
import { TcpProxy } from '../etcd/tcp-proxy.ts';
import { createApp, enroll, tenant } from '../service/muster.ts';
import { findProxy, startProxy } from '../http/real-proxies.ts';
import { scratchDirectory } from '../run/scratch-directory.ts';
import { freePorts } from '../service/free-ports.ts';
import { Caddy, findCaddy, NO_CADDY } from './caddy.ts';
import { findClients, NO_CLIENTS, type KeptClient, type Told } from './clients.ts';

/* Clients that keep their connections to the device listener over a link with a delay, side by side. */

const CONNECTIONS = 50;
const ROUNDS = 4;
const REQUESTS = CONNECTIONS * ROUNDS;
/** Each way: what a client sends within the double of it before the service closes is lost. */
export const DELAY_MS = 50;

/** How long Caddy keeps an idle connection where nothing else is set; Apache is told the same. */
const PROXY_IDLE_SECONDS = 120;
const POLL_SECONDS = 60;

/** The programs of others; or why there are none, to be printed where tests are skipped. */
export function findPrograms(): Programs | string {
  const clients = findClients();
  const caddy = findCaddy();
  if (clients === undefined) return NO_CLIENTS;
  const apache = findProxy('apache2');
  if (apache === undefined) return 'no Apache: apt-get install apache2-bin';
  return caddy === undefined ? NO_CADDY : { clients, caddy, apache };
}

interface Programs {
  readonly clients: { readonly python: KeptClient; readonly go: KeptClient };
  readonly caddy: string;
  readonly apache: string;
}

interface Stage {
  readonly muster: { readonly api: string; readonly device: string; readonly ops: string };
  /** What a second of the service's own times lasts here. */
  readonly secondMs: number;
}

/** The intervals that daemons are told, from the shortest to the longest. */
export const toldIntervals = (): number[] => spread(CONNECTIONS, (at) => pollIntervalAt(POLL_SECONDS, 2 * at - 1));

/** Those that daemons are told, and others from just below the time for which a proxy keeps a connection on. */
export const aroundProxies = (): number[] => [
  ...toldIntervals().slice(CONNECTIONS / 2),
  ...spread(CONNECTIONS / 2, (at) => PROXY_IDLE_SECONDS - 5 + 20 * at),
];

const spread = (count: number, of: (at: number) => number): number[] =>
  Array.from({ length: count }, (_, index) => of(index / (count - 1)));

/** @param intervals in seconds, of direct connections and of those to Caddy */
export async function sideBySide(
  { clients, caddy, apache }: Programs,
  { muster, secondMs }: Stage,
  intervals: { readonly direct: readonly number[]; readonly behindProxies: readonly number[] },
): Promise<Record<'python' | 'go' | 'caddy' | 'apache', Told>> {
  const { apiKey } = await tenant(muster);
  const token = await enroll(muster, await createApp(muster, apiKey));
  await using link = await TcpProxy.before(Number(new URL(muster.device).port));
  link.delayMs = DELAY_MS;
  const keep = [`keepalive ${Math.round(PROXY_IDLE_SECONDS * secondMs)}ms`];
  await using proxy = await Caddy.before(caddy, new URL(link.url).host, keep);
  const [port = 0] = await freePorts(1);
  const folder = scratchDirectory('apache');
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  await using behind = await startProxy('apache2', apache, {
    folder,
    port,
    target: link.url,
    readSeconds: 60,
    keptSeconds: Math.round((PROXY_IDLE_SECONDS * secondMs) / 1000),
  });
  const job = (base: string, path: string, seconds: readonly number[]) => ({
    url: `${base}/device/v1/${path}`,
    token,
    body: JSON.stringify({ revision: 0, status: 'applied' }),
    intervalsMs: seconds.map((each) => Math.round(each * secondMs)),
    rounds: ROUNDS,
  });
  const [python, go, behindCaddy, behindApache] = await Promise.all([
    clients.python(job(link.url, 'config', intervals.direct)),
    clients.go(job(link.url, 'config/ack', intervals.direct)),
    clients.go(job(proxy.url, 'config/ack', intervals.behindProxies)),
    clients.go(job(behind.url, 'config/ack', intervals.behindProxies)),
  ]);
  return { python, go, caddy: behindCaddy, apache: behindApache };
}

/** The outcome where nothing is broken off. Proxies open connections as they like. */
export const ALL_ANSWERED = {
  python: { requests: REQUESTS, connections: CONNECTIONS, broken: 0, statuses: { 200: REQUESTS }, faults: {} },
  go: { requests: REQUESTS, connections: CONNECTIONS, broken: 0, statuses: { 204: REQUESTS }, faults: {} },
  caddy: { requests: REQUESTS, broken: 0, statuses: { 204: REQUESTS }, faults: {} },
  apache: { requests: REQUESTS, broken: 0, statuses: { 204: REQUESTS }, faults: {} },
};
