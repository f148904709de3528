import type { Secret } from '../../../domain/credentials/secret.ts';
import type { OtelConfig } from '../../../domain/otel-config/otel-config.ts';
import type { Rollout } from '../../../domain/rollouts/rollout.ts';
import type { Binding } from '../../../domain/resource-bindings/bindings.ts';
import type { Resource } from '../runtime/resource.ts';
import type { FleetOtelConfigSpec, FleetOtelConfigStatus } from '../schema/fleet-otel-config.ts';
import type { AccountState } from './account-ref.ts';

export type FleetOtelConfigResource = Resource<FleetOtelConfigSpec, FleetOtelConfigStatus>;

/**
 * The header that the spec leads to: a value, none, or the reason why it cannot be had (a message without the value).
 */
export type HeaderState = Secret | 'none' | { readonly reason: string; readonly message: string };

export interface FleetOtelConfigFacts {
  readonly binding: Binding | undefined;
  readonly account: AccountState;
  /** The name of the resource that describes the account's configuration: this one's or another's. */
  readonly first: string;
  readonly header: HeaderState;
  /**
   * The configuration that the account has stored, from any source; undefined where there is none, or it was purged.
   */
  readonly stored: Pick<OtelConfig, 'enabled' | 'endpoint' | 'evidenceLevel'> | undefined;
  /** Whether the stored configuration differs from the spec in the value of its header at most. */
  readonly isHeaderAlone: boolean;
  /** The tag of what was read, over which alone a change is stored: what was purged since is not stored again. */
  readonly seenTag: string | undefined;
  /** Whether the account is managed from this namespace, or not managed: another one may have adopted it since. */
  readonly ours: boolean;
  /** Whether the stored configuration is the one that the spec describes. */
  readonly inSync: boolean;
  /** The rollout, where the spec is accepted and the account is Enterprise. */
  readonly rollout: Rollout | undefined;
  /** Milliseconds since this operator last wrote the status; Infinity where it has not. */
  readonly sinceStatusMs: number;
}
