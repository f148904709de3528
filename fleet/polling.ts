import type { Urls } from '../src/cli/connection/service-urls.ts';
import { Connections, headerOf, requestText, type Reply } from './connections.ts';
import type { Devices } from './devices.ts';
import { Latencies } from '../src/cli/simulation/latencies.ts';
import { pauseFor } from './pauses.ts';
import { Wheel } from './wheel.ts';

const TURN_MS = 1;
const UNANSWERED = 'no answer';

/** The results of the polls. */
export class Polls {
  readonly latencies = new Latencies();
  /** The answers by status, or `no answer`. */
  readonly answers = new Map<string, number>();
  count = 0;
  /** The number of devices that got 401 and poll no more. */
  cutOff = 0;
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
  const plane = new Connections(urls.device, connections);
  const wheel = new Wheel(devices.count, horizonMs(devices));
  const startedAt = performance.now();
  const elapsed = (): number => performance.now() - startedAt;
  for (let device = 0; device < devices.count; device += 1) {
    const interval = devices.intervalSeconds(device);
    if (interval > 0) wheel.put(device, Math.random() * interval * 1000);
  }

  const isOver = (): boolean => signal.aborted || (seconds !== undefined && elapsed() >= seconds * 1000);
  const poll = (device: number): void => {
    plane.send(pollText(devices, device), (reply) => {
      // A poll that the end of the run cut off says nothing about the service.
      if (reply === undefined && isOver()) return;
      const now = elapsed();
      polls.add(String(reply?.status ?? UNANSWERED), now - wheel.dueMs(device));
      const waitMs = nextPollMs(devices, device, reply);
      if (waitMs === undefined) polls.cutOff += 1;
      else wheel.put(device, now + waitMs);
    });
  };
  while (!isOver()) {
    wheel.turn(elapsed(), poll);
    polls.seconds = elapsed() / 1000;
    await pauseFor(TURN_MS / 1000, signal);
  }
  polls.seconds = elapsed() / 1000;
  plane.close();
}

/** The time until the device's next poll: its interval, or the Retry-After; undefined where it must not poll again. */
function nextPollMs(devices: Devices, device: number, reply: Reply | undefined): number | undefined {
  if (reply?.status === 401) return undefined;
  if (reply?.status === 200) devices.received(device, headerOf(reply.head, 'etag') ?? '');
  if (reply?.status === 200 || reply?.status === 304) return devices.intervalSeconds(device) * 1000;
  return (Number(headerOf(reply?.head ?? '', 'retry-after')) || 1) * 1000;
}

function pollText(devices: Devices, device: number): string {
  const tag = devices.tag(device);
  return requestText('GET', '/device/v1/config', {
    Authorization: `Bearer ${devices.credential(device)}`,
    ...(tag !== '' && { 'If-None-Match': tag }),
  });
}

/** The longest interval, and room for a Retry-After. */
function horizonMs(devices: Devices): number {
  let longest = 60;
  for (let device = 0; device < devices.count; device += 1) {
    longest = Math.max(longest, devices.intervalSeconds(device));
  }
  return (longest + 60) * 1000;
}
