import type { IncomingMessage } from 'node:http';
import type { Semaphore } from '../../concurrency/semaphore.ts';
import type { TurnQueue } from '../../concurrency/turn-queue.ts';
import type { DeviceRate } from '../../domain/devices/device-rate-limit.ts';
import type { EnrollmentDeps } from '../../domain/devices/enrollment.ts';
import type { Heartbeats } from '../../domain/devices/heartbeats.ts';
import type { HeldPolls } from '../../domain/devices/held-polls.ts';
import type { SharedCredentials } from '../../domain/shared-credentials/shared-credentials.ts';
import type { RecentlyRejected } from '../../domain/devices/recently-rejected.ts';
import type { Reported } from '../../domain/devices/version-reports.ts';
import type { FoundApp } from '../../domain/fleet/reader.ts';
import type { Origin } from '../../domain/mutation/step.ts';
import type { DeviceConfigs } from '../../domain/otel-config/delivered-config.ts';
import type { DetectionMetrics } from '../../domain/review-queue/detections.ts';
import type { AwaitedBodies } from '../http/awaited-bodies.ts';
import type { ExchangeDeps } from '../http/exchange.ts';
import type { PollMetrics } from './metrics.ts';

/** The services and values that the handlers of the device plane use. */
export interface DeviceDeps extends Omit<EnrollmentDeps, 'metrics'>, Omit<ExchangeDeps, 'metrics'> {
  readonly metrics: EnrollmentDeps['metrics'] & ExchangeDeps['metrics'] & PollMetrics & DetectionMetrics;
  readonly configs: DeviceConfigs;
  readonly heartbeats: Heartbeats;
  readonly rate: DeviceRate;
  readonly heldPolls: HeldPolls;
  readonly recentlyRejected: RecentlyRejected;
  /** Bounds the requests that are authenticated by reads of the store. */
  readonly storeReads: Semaphore;
  /** Bounds the polls whose acknowledgement is looked up, since they show an older revision. */
  readonly setBackReads: Semaphore;
  /** Bounds the enrollments whose bodies are there: they take no slot of the listener's, so that polls have theirs. */
  readonly enrollments: Semaphore;
  /** Bounds the bodies of enrollments that are on their way: nothing has authenticated these. */
  readonly enrollmentBodies: AwaitedBodies;
  /** Lets many requests that waited for the same thing go on in pieces. */
  readonly turns: TurnQueue;
  readonly sharedCredentials: SharedCredentials;
  /** The network that a client comes from, as `Sender` has it. */
  readonly siteOf: (request: IncomingMessage) => string | undefined;
  readonly reportVersion: (found: FoundApp, reported: Reported, origin: Origin) => void;
  /** Aborts when the process is asked to end: held polls are then answered. */
  readonly stopping: AbortSignal;
}
