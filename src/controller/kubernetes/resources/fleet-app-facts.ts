import type { AppRecord } from '../../../domain/records/app-records.ts';
import type { Binding } from '../../../domain/resource-bindings/bindings.ts';
import type { Resource } from '../runtime/resource.ts';
import type { FleetAppSpec, FleetAppStatus } from '../schema/fleet-app.ts';
import { CREDENTIAL_KEY, SUPERVISOR_KEY } from '../supervisor/supervisor-secret.ts';
import type { AccountState } from './account-ref.ts';

export type FleetAppResource = Resource<FleetAppSpec, FleetAppStatus>;

export interface FleetAppFacts {
  readonly binding: Binding | undefined;
  readonly account: AccountState;
  /** The app of the binding. */
  readonly app: AppRecord | undefined;
  /** The app of the account that the spec asks to adopt, as long as the resource stands for none. */
  readonly candidate: AppRecord | undefined;
  /** The UID of the namespace, where an app is to be adopted, and it can be read. */
  readonly namespaceUid: string | undefined;
  /** The last contact in milliseconds since 1970; null where the app has not enrolled yet. */
  readonly seenAt: number | null;
  /** The Secret named in the spec; `wanted` has the digests of what it should hold. */
  readonly secret:
    | {
        readonly own: boolean;
        readonly orphan?: boolean | undefined;
        readonly digests: Readonly<Record<string, string>>;
      }
    | undefined;
  /** Whether the labels and annotations of that Secret are right, or there is none. */
  readonly isDressed: boolean;
  readonly wanted: {
    readonly appId: string;
    readonly serverUrl: string;
    /** That of a supervisor's file but for the credential; `''` where the Secret is to have none. */
    readonly settings: string;
  };
}

/**
 * Whether the Secret of the spec is the bound one by its name, is nobody's and holds, by its hashes, the
 * app's id and the code or the credential that was bound last. That of an enrolled app may hold the id alone.
 */
export function holdsCurrentSecret({ spec }: FleetAppResource, { binding, secret, wanted }: FleetAppFacts): boolean {
  const { appId, code, credential, secretName } = binding?.record ?? {};
  if (secretName === undefined || secretName !== spec.enrollment?.secretRef?.name) return false;
  if (secret?.orphan !== true || appId === undefined || secret.digests['appId'] !== wanted.appId) return false;
  const { enrollCode, [CREDENTIAL_KEY]: held, [SUPERVISOR_KEY]: file } = secret.digests;
  const codeIsBound = enrollCode === undefined || enrollCode === code?.hash;
  const credentialIsBound = held === undefined ? file === undefined : held === credential?.hash;
  return codeIsBound && credentialIsBound;
}
