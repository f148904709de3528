import { MusterError, type DeviceClient, type DeviceConfig, type Poll } from '#client';
import { changedMs, unchangedMs } from '../agent/pace.ts';
import { isFinal } from '../agent/verdicts.ts';
import type { DaemonSurroundings, Polling, PollingDaemon } from './surroundings.ts';

/** The platform that every simulated daemon reports. */
export const PLATFORM = 'linux/amd64';

/** Polls on the device plane, each time with the tag of what it has. The service may hold a poll. */
export class DevicePolling implements Polling {
  readonly #surroundings: DaemonSurroundings;
  readonly #device: DeviceClient;
  #etag: string | undefined;
  #config: DeviceConfig | undefined;
  /** The revision that it has received and the service has not been told of. */
  #untold: number | undefined;
  /** Polls in a row that brought a change and were not held. */
  #unheld = 0;

  constructor(surroundings: DaemonSurroundings, device: DeviceClient) {
    this.#surroundings = surroundings;
    this.#device = device;
  }

  async turn({ agentVersion }: PollingDaemon, signal: AbortSignal): Promise<void> {
    const { clock, counters, waitSeconds } = this.#surroundings;
    const startedAt = clock.monotonic();
    const poll = await this.#device.pollConfig({
      waitSeconds: this.#untold === undefined ? waitSeconds : 0,
      platform: PLATFORM,
      agentVersion,
      signal,
      ...(this.#etag !== undefined && { etag: this.#etag }),
      ...(this.#config && { config: this.#config }),
    });
    counters.polls += 1;
    const tookMs = clock.monotonic() - startedAt;
    this.#unheld = poll.changed && poll.retryAfterSeconds !== undefined ? this.#unheld + 1 : 0;
    if (poll.changed) this.#take(poll);
    if (this.#untold !== undefined) await this.#acknowledge(this.#untold, signal);
    if (poll.changed) {
      const pauseMs = changedMs(poll.retryAfterSeconds, this.#unheld);
      if (pauseMs > 0) await clock.sleep(pauseMs, signal);
    } else {
      counters.unchanged += 1;
      await clock.sleep(unchangedMs(poll.retryAfterSeconds, tookMs), signal);
    }
  }

  #take({ config, etag }: Extract<Poll, { changed: true }>): void {
    const { clock, counters } = this.#surroundings;
    counters.received += 1;
    // The configuration at its enrollment has not just been changed.
    if (this.#config) counters.receivedChange(config.otel.endpoint, config.revision, clock.monotonic());
    this.#etag = etag;
    this.#config = config;
    this.#untold = config.revision;
  }

  /** An acknowledgement that an outage swallows is sent after the next poll. */
  async #acknowledge(revision: number, signal: AbortSignal): Promise<void> {
    try {
      await this.#device.acknowledgeConfig({ revision, status: 'applied' }, { signal });
    } catch (error) {
      // The service has another configuration by now.
      if (error instanceof MusterError && isFinal(error)) this.#untold = undefined;
      throw error;
    }
    this.#untold = undefined;
    this.#surroundings.counters.acknowledged += 1;
  }
}
