import type { Slots } from '../../concurrency/slots.ts';
import type { FleetCounters } from './counters.ts';

/** The surroundings that simulated daemons share. */
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
  /** They are agents of OpAMP once they have enrolled; undefined where they poll on the device plane. */
  readonly opamp?: OpampSurroundings | undefined;
}

/** Simulated agents of OpAMP share these beside it. */
export interface OpampSurroundings {
  /** The whole URL of the endpoint. */
  readonly endpoint: string;
  /** Sends the messages. */
  readonly fetch: typeof fetch;
  /** Seconds between the messages of an agent, in place of what the service offers. */
  readonly intervalSeconds?: number | undefined;
  /** Bounds the messages that are under way at once, and with them the connections. */
  readonly slots: Slots;
}

/** How a daemon that has enrolled asks for its configuration. */
export interface Polling {
  /**
   * Polls, tells what it has done with a configuration, and waits until the next poll is due.
   * @throws MusterError
   */
  turn(daemon: PollingDaemon, signal: AbortSignal): Promise<void>;
}

/** The facts that a poll tells of its daemon. */
export interface PollingDaemon {
  readonly agentVersion: string;
  /** As the enrollment told it. */
  readonly pollIntervalSeconds: number;
}
