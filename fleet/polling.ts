import { Pool } from 'undici';
import * as z from 'zod';
import type { Urls } from '../src/cli/connection/service-urls.ts';
import { Latencies } from '../src/cli/simulation/latencies.ts';
import { systemClock } from '../src/time/clock.ts';
import type { Devices } from './devices.ts';
import { Wheel } from './wheel.ts';

/*
 * The polls are dispatched by undici. All else here is sent by clients/typescript, with which daemons enroll as those
 * of `muster agent simulate` do; but what polls must cost less than the service that it measures. A poll took 22 µs of
 * a core by undici, 100 by `fetch`, 150 by the client; the bytes of HTTP/1.1, written and read by ourselves, took 15.
 * The daemons of `muster agent simulate` hold polls and speak OpAMP, also through a proxy, and take 26 to 35 KB each;
 * those here poll and acknowledge alone, in 24 bytes, so that a million of them fit.
 */

const TURN_MS = 1;
const UNANSWERED = 'no answer';
/** Longer than the service keeps an idle connection, so that it decides. */
const KEPT_MS = 600_000;

/** The results of the polls. */
export class Polls {
  readonly latencies = new Latencies();
  /** The answers by status, or `no answer`. */
  readonly answers = new Map<string, number>();
  count = 0;
  /** The number of devices that got 401 and poll no more. */
  cutOff = 0;
  /** The number of configurations that devices have received and acknowledged. */
  acknowledged = 0;
  seconds = 0;

  get perSecond(): number {
    return this.seconds === 0 ? 0 : this.count / this.seconds;
  }

  add(status: string, ms: number): void {
    this.count += 1;
    this.answers.set(status, (this.answers.get(status) ?? 0) + 1);
    this.latencies.add(ms);
  }

  toString(): string {
    const told = [...this.answers].map(([status, count]) => `${count} × ${status}`).join(', ');
    const [p50, p99] = [this.latencies.at(0.5), this.latencies.at(0.99)].map((ms) => ms.toFixed(1));
    return `${this.perSecond.toFixed(0)} polls/s · p50 ${p50} ms, p99 ${p99} ms · ${told}`;
  }
}

export interface Polling {
  readonly urls: Urls;
  readonly devices: Devices;
  readonly connections: number;
  /** Seconds of polling; where undefined, until the signal aborts. */
  readonly seconds: number | undefined;
  readonly signal: AbortSignal;
  readonly polls: Polls;
}

/**
 * Every enrolled device polls in its interval, from a moment of its own. The time of a poll counts from when it was
 * due: time that it waited, in this process or in the service, counts.
 */
export async function pollAll({ urls, devices, connections, seconds, signal, polls }: Polling): Promise<void> {
  const plane = new Pool(urls.device, { connections, pipelining: 1, keepAliveTimeout: KEPT_MS });
  const wheel = new Wheel(devices.count, horizonMs(devices));
  const startedAt = performance.now();
  const elapsed = (): number => performance.now() - startedAt;
  for (let device = 0; device < devices.count; device += 1) {
    const interval = devices.intervalSeconds(device);
    if (interval > 0) wheel.put(device, Math.random() * interval * 1000);
  }

  const isOver = (): boolean => signal.aborted || (seconds !== undefined && elapsed() >= seconds * 1000);
  const answered = (device: number, answer: Answer | undefined): void => {
    // A poll that the end of the run cut off says nothing about the service.
    if (answer === undefined && isOver()) return;
    const now = elapsed();
    polls.add(String(answer?.status ?? UNANSWERED), now - wheel.dueMs(device));
    if (answer?.status === 200) acknowledge(device, answer);
    const waitMs = nextPollMs(devices, device, answer);
    if (waitMs === undefined) polls.cutOff += 1;
    else wheel.put(device, now + waitMs);
  };
  const poll = (device: number): void => {
    let answer: Answer | undefined;
    const tag = devices.tag(device);
    const headers = { ...authorized(devices, device), ...(tag !== '' && { 'if-none-match': tag }) };
    plane.dispatch(
      { method: 'GET', path: '/device/v1/config', headers },
      {
        // It insists on all of them.
        onRequestStart: () => undefined,
        onResponseStart: (_controller, status, { etag, 'retry-after': after }) =>
          (answer = { status, etag: String(etag ?? ''), retryAfterSeconds: Number(after), body: [] }),
        onResponseData: (_controller, chunk) => void answer?.body.push(chunk),
        onResponseEnd: () => answered(device, answer),
        onResponseError: () => answered(device, undefined),
      },
    );
  };
  /** A device has what it has acknowledged: otherwise the next poll brings it again. */
  const acknowledge = (device: number, { body, etag }: Answer): void => {
    const config = configSchema.safeParse(parsed(body));
    if (!config.success) return;
    let status: number | undefined;
    const headers = { ...authorized(devices, device), 'content-type': 'application/json' };
    const told = JSON.stringify({ revision: config.data.revision, status: 'applied' });
    plane.dispatch(
      { method: 'POST', path: '/device/v1/config/ack', headers, body: told },
      {
        onRequestStart: () => undefined,
        onResponseStart: (_controller, code) => (status = code),
        onResponseData: () => undefined,
        onResponseEnd: () => {
          if (status !== 204) return;
          polls.acknowledged += 1;
          devices.received(device, etag);
        },
        onResponseError: () => undefined,
      },
    );
  };
  while (!isOver()) {
    wheel.turn(elapsed(), poll);
    polls.seconds = elapsed() / 1000;
    await systemClock.sleep(TURN_MS, signal);
  }
  polls.seconds = elapsed() / 1000;
  await plane.destroy();
}

interface Answer {
  readonly status: number;
  readonly etag: string;
  /** NaN where it tells none. */
  readonly retryAfterSeconds: number;
  /** Its pieces, which may end within a character. */
  readonly body: Buffer[];
}

const configSchema = z.object({ revision: z.int() });

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** @returns undefined where it is no JSON in UTF-8 */
function parsed(body: readonly Buffer[]): unknown {
  try {
    return JSON.parse(utf8.decode(Buffer.concat(body)));
  } catch {
    return undefined;
  }
}

/** The time until the device's next poll: its interval, or the Retry-After; undefined where it must not poll again. */
function nextPollMs(devices: Devices, device: number, answer: Answer | undefined): number | undefined {
  if (answer?.status === 401) return undefined;
  if (answer?.status === 200 || answer?.status === 304) return devices.intervalSeconds(device) * 1000;
  return (answer?.retryAfterSeconds || 1) * 1000;
}

const authorized = (devices: Devices, device: number) => ({ authorization: `Bearer ${devices.credential(device)}` });

/** The longest interval, and room for a Retry-After. */
function horizonMs(devices: Devices): number {
  let longest = 60;
  for (let device = 0; device < devices.count; device += 1) {
    longest = Math.max(longest, devices.intervalSeconds(device));
  }
  return (longest + 60) * 1000;
}
