import type { Agents } from '../../domain/opamp/agents.ts';
import type { OpampMetrics } from '../../domain/opamp/metrics.ts';
import type { KeyRing } from '../../domain/keys/key-ring.ts';
import type { DeviceDeps } from '../device/deps.ts';
import type { AwaitedBodies } from '../http/awaited-bodies.ts';
import type { InflateQueue } from '../http/content-encoding.ts';
import type { ConnectionSettings, OfferedConnection } from './connection-settings.ts';

/** The services and values that the endpoint of OpAMP uses: those of the device plane, and its own. */
export interface OpampDeps extends DeviceDeps {
  readonly metrics: DeviceDeps['metrics'] & OpampMetrics;
  readonly agents: Agents;
  readonly keyRing: KeyRing;
  readonly connection: OfferedConnection;
  readonly settings: ConnectionSettings;
  /** Whether no other replica takes messages. */
  readonly isAlone: () => boolean;
  /** Bounds the messages that are waited for: they may be longer than other bodies. */
  readonly messages: AwaitedBodies;
  /** Bounds the compressed messages that wait for their turn. */
  readonly inflating: InflateQueue;
}
