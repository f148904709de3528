import type { Secret } from '../../../domain/credentials/secret.ts';
import type { Rollout } from '../../../domain/otel-config/rollout.ts';
import type { Binding } from '../../../domain/resource-bindings/bindings.ts';
import type { Resource } from '../runtime/resource.ts';
import type { FleetOtelConfigSpec, FleetOtelConfigStatus } from '../schema/fleet-otel-config.ts';
import type { AccountState } from './account-ref.ts';

export type FleetOtelConfigResource = Resource<FleetOtelConfigSpec, FleetOtelConfigStatus>;

/** The header that the spec leads to: a value, none, or why it cannot be had (a reason and words without the value). */
export type HeaderState = Secret | 'none' | { readonly reason: string; readonly message: string };

export interface FleetOtelConfigFacts {
  readonly binding: Binding | undefined;
  readonly account: AccountState;
  /** The resource that describes the account's configuration; its own name, where it is this one. */
  readonly first: string;
  readonly header: HeaderState;
  /** What the account has stored, whoever stored it; undefined: nothing, or it was purged. */
  readonly stored: { readonly enabled: boolean } | undefined;
  /** The revision of that, to be relied upon. */
  readonly storedRevision: number;
  /** Whether the account is in this namespace's hands: it may have been adopted by another since. */
  readonly ours: boolean;
  /** What is stored is what the spec says. */
  readonly inSync: boolean;
  /** Where the spec is accepted and the account is Enterprise. */
  readonly rollout: Rollout | undefined;
  /** Since this operator last wrote the status; Infinity where it has not. */
  readonly sinceStatusMs: number;
}
