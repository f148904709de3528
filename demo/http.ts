import { setTimeout as sleep } from 'node:timers/promises';
import type { Service } from '../src/service/service.ts';

/** The addresses of the three listeners for a client on this machine. */
export interface Urls {
  readonly api: string;
  readonly device: string;
  readonly ops: string;
}

const EVERY_ADDRESS: ReadonlyMap<string, string> = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
]);

export function urlsOf({ api, device, ops }: Service): Urls {
  const url = ({ host, port }: Service['api']): string => {
    const name = EVERY_ADDRESS.get(host) ?? host;
    return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
  };
  return { api: url(api), device: url(device), ops: url(ops) };
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Asked {
  readonly method?: string;
  readonly token?: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Sends one request, as any client would; the status is 0 where no answer came. */
export async function ask(url: string, { method = 'GET', token, body, headers, signal }: Asked): Promise<Answer> {
  try {
    const response = await fetch(url, {
      method,
      headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...headers },
      ...(body && { body: JSON.stringify(body) }),
      signal,
    });
    const text = await response.text();
    const answer = text === '' ? {} : (JSON.parse(text) as Answer['body']);
    return { status: response.status, headers: response.headers, body: answer };
  } catch (error) {
    if (signal.aborted) throw error;
    return { status: 0, headers: new Headers(), body: {} };
  }
}

/** The statuses after which a client tries again after a while. */
const PASSING: ReadonlySet<number> = new Set([0, 429, 502, 503]);
const PAUSE_SECONDS = 1;

export async function pause({ headers }: Answer, signal: AbortSignal): Promise<void> {
  await sleep((Number(headers.get('retry-after')) || PAUSE_SECONDS) * 1000, undefined, { signal });
}

/** As `ask`, until the answer has this status; any final answer with another status is a fault of the demo. */
export async function insist(status: number, url: string, asked: Asked): Promise<Answer['body']> {
  for (;;) {
    const answer = await ask(url, asked);
    if (answer.status === status) return answer.body;
    if (!PASSING.has(answer.status)) {
      throw new Error(`${asked.method ?? 'GET'} ${url}: ${answer.status} ${JSON.stringify(answer.body)}`);
    }
    await pause(answer, asked.signal);
  }
}
