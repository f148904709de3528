import { DeviceClient, MusterError } from '#client';
import { credentialHash, makeCredential } from '../agent/credential.ts';
import { outageBackoffMs } from '../agent/pace.ts';
import { isRefusal, isWrongFromTheStart } from '../agent/verdicts.ts';
import { DevicePolling, PLATFORM } from './device-polling.ts';
import { OpampPolling } from './opamp-polling.ts';
import type { DaemonSurroundings, Polling } from './surroundings.ts';

export interface Enrollment {
  readonly appId: string;
  readonly enrollCode: string;
}

/** Enrolls as every simulated daemon does. @returns seconds between two polls @throws MusterError */
export async function enrollSimulated(
  device: DeviceClient,
  { appId, enrollCode }: Enrollment,
  { credential, agentVersion }: { readonly credential: string; readonly agentVersion: string },
  signal: AbortSignal,
): Promise<number> {
  const { pollIntervalSeconds } = await device.enrollDevice(
    {
      appId,
      enrollCode,
      platform: PLATFORM,
      agentVersion,
      connection: 'cloud',
      credentialHash: credentialHash(credential),
    },
    { credential, signal },
  );
  return pollIntervalSeconds;
}

/**
 * A simulated daemon: enrolls with its code, then polls, on the device plane or as an agent of OpAMP, and acknowledges
 * what it receives. It applies nothing; `muster agent run` is the one that does.
 */
export class SimulatedDaemon {
  readonly #surroundings: DaemonSurroundings;
  readonly #device: DeviceClient;
  /** It makes its credential itself: the service keeps its hash alone, and a lost answer costs no code. */
  readonly #credential: string;
  readonly #polling: Polling;
  #pollIntervalSeconds = 0;
  #version = 0;
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
    const { opamp } = surroundings;
    this.#polling = opamp
      ? new OpampPolling(surroundings, opamp, this.#credential)
      : new DevicePolling(surroundings, this.#device);
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
        if (isRefusal(error) && isEnrolled) return;
        if (!isEnrolled && (isRefusal(error) || isWrongFromTheStart(error))) throw error;
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

  async #enroll(enrollment: Enrollment, signal: AbortSignal): Promise<void> {
    const identity = { credential: this.#credential, agentVersion: this.#agentVersion };
    this.#pollIntervalSeconds = await enrollSimulated(this.#device, enrollment, identity, signal);
    this.#surroundings.counters.enrolled += 1;
  }

  async #turn(signal: AbortSignal): Promise<void> {
    const daemon = { agentVersion: this.#agentVersion, pollIntervalSeconds: this.#pollIntervalSeconds };
    await this.#polling.turn(daemon, signal);
    if (this.#surroundings.clock.monotonic() >= this.#detectAt) await this.#detect(signal);
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
    const { accepted } = await this.#device.reportDetections({ events: [event] }, { signal });
    counters.detections += accepted;
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
