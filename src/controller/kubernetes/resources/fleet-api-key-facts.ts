import type { KeyScope } from '../../../domain/key-validity/key-restriction.ts';
import type { BindingRecord } from '../../../domain/records/binding-records.ts';
import type { Binding } from '../../../domain/resource-bindings/bindings.ts';
import type { Resource } from '../runtime/resource.ts';
import type { FleetApiKeySpec, FleetApiKeyStatus } from '../schema/fleet-api-key.ts';
import type { AccountState } from './account-ref.ts';

/* The facts by which the next step for a FleetApiKey is decided, and those steps. */

export type FleetApiKeyResource = Resource<FleetApiKeySpec, FleetApiKeyStatus>;

export interface FleetApiKeyFacts {
  readonly binding: Binding | undefined;
  readonly account: AccountState;
  /** Whether each key of the binding is registered. */
  readonly registered: { readonly key: boolean; readonly previousKey: boolean };
  /** The scope of each key of the binding that is registered. */
  readonly scopes?: { readonly [Which in 'key' | 'previousKey']?: KeyScope | undefined };
  /** The secret of the key, by its hash, and its end as they are stored: a rotation replaces these and no others. */
  readonly present?: { readonly hash: string; readonly expiresAt: number | undefined } | undefined;
  /** Whether the key has another secret or another end than the binding says: the Secret holds what ends. */
  readonly isChangedOutside?: boolean;
  /** The end of the key's former secret, in milliseconds since 1970, while that works. */
  readonly formerUntil?: number | undefined;
  /** Whether the account may have one more key. */
  readonly room: boolean;
  /** The Secret named in the spec; `digest` is that of the value under its key, `others` those of its other values. */
  readonly secret:
    | {
        readonly own: boolean;
        readonly orphan?: boolean | undefined;
        readonly digest: string | undefined;
        readonly others?: readonly string[] | undefined;
      }
    | undefined;
  /** Whether the labels and annotations of that Secret are right, or there is none. */
  readonly isDressed: boolean;
  /** The other programs that wrote that Secret, the last one first. */
  readonly writers: readonly string[];
}

export type FleetApiKeyStep =
  /** Generates a key, or another secret of the one that is there, notes its hash, and writes the Secret. */
  | { readonly do: 'issue' }
  /** Registers the key that the Secret holds. */
  | { readonly do: 'register' }
  /** Makes what the Secret holds the secret of the key. */
  | { readonly do: 'rotate'; readonly overlapMs: number }
  /** Makes the restored Secret with the current key this resource's own. */
  | { readonly do: 'takeSecret' }
  | { readonly do: 'revoke'; readonly keyId: string; readonly after: BindingRecord | undefined }
  /** Gives a key what the spec lets it do. */
  | { readonly do: 'scope'; readonly keyId: string }
  | { readonly do: 'note'; readonly after: BindingRecord | undefined }
  /** Sets the labels and annotations of the Secret. */
  | { readonly do: 'dress' }
  /** Removes the Secret that the spec named before. */
  | { readonly do: 'removeSecret'; readonly name: string; readonly after: BindingRecord };
