import { CREDENTIAL_KEY, SUPERVISOR_KEY } from '../supervisor/supervisor-secret.ts';
import type { FleetAppFacts } from './fleet-app-facts.ts';

/**
 * Whether the Secret of the spec is nobody's and holds, by its hashes, the app's id and the code or the credential that
 * was bound last. That of an enrolled app may hold the id alone.
 */
export function holdsCurrentSecret({ binding, secret, wanted }: FleetAppFacts): boolean {
  const { appId, code, credential } = binding?.record ?? {};
  if (secret?.orphan !== true || appId === undefined || secret.digests['appId'] !== wanted.appId) return false;
  const { enrollCode, [CREDENTIAL_KEY]: held, [SUPERVISOR_KEY]: file } = secret.digests;
  const codeIsBound = enrollCode === undefined || enrollCode === code?.hash;
  const credentialIsBound = held === undefined ? file === undefined : held === credential?.hash;
  return codeIsBound && credentialIsBound;
}
