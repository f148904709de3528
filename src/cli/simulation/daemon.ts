import { DeviceClient, MusterError, type Poll } from '#client';
import { credentialHash, makeCredential } from '../agent/credential.ts';
import { changedMs, outageBackoffMs, unchangedMs } from '../agent/pace.ts';
import type { FleetCounters } from './counters.ts';

export interface Enrollment {
  readonly appId: string;
  readonly enrollCode: string;
}

/** What simulated daemons share. */
export interface DaemonSurroundings {
  /** The address of the device listener. */
  readonly url: string;
  /** Sends its requests; without it that of the platform. */
  readonly fetch?: typeof fetch;
  readonly counters: FleetCounters;
  readonly clock: {
    /** Milliseconds since 1970. */
    now(): number;
    monotonic(): number;
    sleep(ms: number, signal?: AbortSignal): Promise<void>;
  };
  readonly jitter: () => number;
  readonly randomBytes: (count: number) => Buffer;
  /** How long the service may hold a poll. */
  readonly waitSeconds: number;
  /** About how often a daemon reports a detection; undefined for never. */
  readonly detectEveryMs?: number | undefined;
}

const PLATFORM = 'linux/amd64';

/**
 * A simulated daemon: enrolls with its code, then polls, each time with the tag of what it has, and acknowledges what it
 * receives. It applies nothing; `muster agent run` is the one that does.
 */
export class SimulatedDaemon {
  readonly #surroundings: DaemonSurroundings;
  readonly #device: DeviceClient;
  /** It makes its credential itself: the service keeps its hash alone, and a lost answer costs no code. */
  readonly #credential: string;
  #etag: string | undefined;
  /** The revision that it has received and the service has not been told of. */
  #untold: number | undefined;
  #version = 0;
  /** Polls in a row that brought a change and were not held. */
  #unheld = 0;
  #detectAt: number;

  constructor(surroundings: DaemonSurroundings) {
    this.#surroundings = surroundings;
    this.#credential = makeCredential(surroundings.randomBytes);
    this.#device = new DeviceClient({
      url: surroundings.url,
      fetch: surroundings.fetch,
      credential: this.#credential,
      random: surroundings.jitter,
    });
    this.#detectAt = this.#nextDetection();
  }

  /**
   * Resolves when it is cut off.
   * @throws MusterError `aborted` when the signal aborts, and where the service refuses the enrollment
   */
  async run(enrollment: Enrollment, signal: AbortSignal): Promise<void> {
    let isEnrolled = false;
    for (let failures = 0; ;) {
      const { clock, counters, jitter } = this.#surroundings;
      try {
        await (isEnrolled ? this.#turn(signal) : this.#enroll(enrollment, signal));
        isEnrolled = true;
        failures = 0;
      } catch (error) {
        if (!(error instanceof MusterError) || signal.aborted) throw error;
        if (error.status === 401 && isEnrolled) return;
        if (!isEnrolled && error.status >= 400 && error.status < 429) throw error;
        failures += 1;
        counters.failed += 1;
        await clock.sleep(outageBackoffMs(failures, error.retryAfterSeconds, jitter), signal);
      }
    }
  }

  /** Reports a newer version with its next poll. */
  upgrade(): void {
    this.#version += 1;
    this.#surroundings.counters.upgrades += 1;
  }

  async #enroll({ appId, enrollCode }: Enrollment, signal: AbortSignal): Promise<void> {
    await this.#device.enrollDevice(
      {
        appId,
        enrollCode,
        platform: PLATFORM,
        agentVersion: this.#agentVersion,
        connection: 'cloud',
        credentialHash: credentialHash(this.#credential),
      },
      { credential: this.#credential, signal },
    );
    this.#surroundings.counters.enrolled += 1;
  }

  async #turn(signal: AbortSignal): Promise<void> {
    const { clock, counters, waitSeconds } = this.#surroundings;
    const startedAt = clock.monotonic();
    const poll = await this.#device.pollConfig({
      waitSeconds: this.#untold === undefined ? waitSeconds : 0,
      platform: PLATFORM,
      agentVersion: this.#agentVersion,
      signal,
      ...(this.#etag !== undefined && { etag: this.#etag }),
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
    if (clock.monotonic() >= this.#detectAt) await this.#detect(signal);
  }

  #take({ config, etag }: Extract<Poll, { changed: true }>): void {
    const { clock, counters } = this.#surroundings;
    counters.received += 1;
    // What it finds at its enrollment has not just been changed.
    if (this.#etag !== undefined) counters.receivedChange(config.otel.endpoint, config.revision, clock.monotonic());
    this.#etag = etag;
    this.#untold = config.revision;
  }

  /** What an outage leaves untold is told after the next poll. */
  async #acknowledge(revision: number, signal: AbortSignal): Promise<void> {
    try {
      await this.#device.acknowledgeConfig({ revision, status: 'applied' }, { signal });
    } catch (error) {
      // The service has another configuration by now.
      if (error instanceof MusterError && error.status === 400) this.#untold = undefined;
      throw error;
    }
    this.#untold = undefined;
    this.#surroundings.counters.acknowledged += 1;
  }

  async #detect(signal: AbortSignal): Promise<void> {
    const { clock, counters, randomBytes } = this.#surroundings;
    this.#detectAt = this.#nextDetection();
    const event = {
      id: randomBytes(16).toString('hex'),
      at: new Date(clock.now()).toISOString(),
      rule: 'simulated',
      severity: 'low',
      evidence: { hash: randomBytes(32).toString('hex') },
    } as const;
    await this.#device.reportDetections({ events: [event] }, { signal });
    counters.detections += 1;
  }

  /** @returns milliseconds on the monotonic clock; half as late to half as late again, so that a fleet is spread */
  #nextDetection(): number {
    const { clock, detectEveryMs, jitter } = this.#surroundings;
    return detectEveryMs === undefined
      ? Number.POSITIVE_INFINITY
      : clock.monotonic() + detectEveryMs * (0.5 + jitter());
  }

  get #agentVersion(): string {
    return `1.${this.#version}.0`;
  }
}
