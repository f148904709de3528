import { createHmac } from 'node:crypto';
import { Secret } from '../credentials/secret.ts';
import { tokenHash } from '../credentials/tokens.ts';
import { enroll, type EnrollmentDeps } from '../devices/enrollment.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import type { Origin } from '../mutation/step.ts';

/** An enrollment by a code, in place of a credential. */
interface BootstrapRequest {
  readonly appId: string;
  readonly enrollCode: string;
  /** The id of the instance as it was sent, 32 hex digits. */
  readonly instance: string;
  readonly platform: string;
  readonly agentVersion: string;
}

/** The services of a bootstrap. */
interface BootstrapDeps extends EnrollmentDeps {
  readonly keyRing: KeyRing;
}

/** Keys that derive credentials are for nothing else. */
const PURPOSE = 'muster opamp bootstrap';

/**
 * Enrolls an agent as `cloud` with a code and gives it a credential. The credential is derived from the code, the id of
 * the instance and the key-encryption key, so that a repetition gets the same one for the 15 minutes of an enrollment's
 * replay, though nothing of it is kept in clear; whoever learns the code afterwards cannot compute it.
 * @throws Refusal `invalid_code` or `account_disabled`; StoreUnavailable, Busy
 */
export async function bootstrap(deps: BootstrapDeps, request: BootstrapRequest, origin: Origin): Promise<Secret> {
  const { appId, enrollCode, platform, agentVersion } = request;
  const credential = await credentialFor(deps, request);
  await enroll(
    deps,
    {
      appId,
      enrollCode,
      platform,
      agentVersion,
      connection: 'cloud',
      credentialHash: tokenHash(credential.reveal()),
      proved: true,
    },
    origin,
  );
  return credential;
}

/** A key rotation may come between the two requests: the credential that the app has decides which key it was. */
async function credentialFor({ keyRing, fleet }: BootstrapDeps, request: BootstrapRequest): Promise<Secret> {
  const found = await (await fleet.current()).appById(request.appId);
  const current = found?.app.record.credential;
  const candidates = keyRing.numbers
    .toReversed()
    .flatMap((number) => keyRing.key(number) ?? [])
    .map((key) => derived(key, request));
  const before = candidates.find((credential) => tokenHash(credential.reveal()) === current);
  const [newest] = candidates;
  const chosen = before ?? newest;
  if (!chosen) throw new Error('the key ring is empty');
  return chosen;
}

function derived(key: Buffer, { appId, enrollCode, instance }: BootstrapRequest): Secret {
  const own = createHmac('sha256', key).update(PURPOSE).digest();
  const word = createHmac('sha256', own).update(`${appId}\n${enrollCode}\n${instance}`).digest('base64url');
  return new Secret(`mst_dev_${word}`);
}
