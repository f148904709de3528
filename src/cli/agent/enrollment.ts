import { MusterError, type DeviceClient } from '#client';
import { credentialHash, identityText, makeCredential, readIdentity, type Identity } from './credential.ts';
import { outageBackoffMs } from './pace.ts';
import { AgentFault, type Surroundings } from './surroundings.ts';
import { isRefusal, isWrongFromTheStart, metWords } from './verdicts.ts';

/** The place of the enrollment code, as a person names it. */
export interface CodeSource {
  /** The option, and its file. */
  readonly from: string;
  /** It is called only where a code is needed. */
  readonly read: () => Promise<string>;
}

export interface Enrollment {
  readonly credentialFile: string;
  readonly appId: string | undefined;
  /** Undefined where none is given. */
  readonly code: CodeSource | undefined;
  readonly connection: 'cloud' | 'private';
  readonly platform: string;
  readonly agentVersion: string;
  /** Whether it gives up where the service cannot be reached. */
  readonly once: boolean;
}

/**
 * The identity of the file, or a new one that enrolls with the code. The credential is on the disk before the request
 * is sent, and the same request may be repeated for 15 minutes: a lost answer or a kill at any moment costs nothing.
 * @throws AgentFault; MusterError `aborted` when the signal aborts; the system's error of a file
 */
export async function enrolledIdentity(
  device: DeviceClient,
  enrollment: Enrollment,
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<Identity> {
  const { credentialFile, code } = enrollment;
  const kept = await readIdentity(credentialFile);
  if (kept) refuseOtherApp(kept, enrollment);
  if (kept?.enrolled === true) return kept;
  // An earlier start may have been killed between its enrollment and this file: it needs no code any more.
  if (kept && (await isTaken(device, kept.credential, enrollment, surroundings, signal))) {
    return await enrolled(kept, enrollment, surroundings);
  }
  const appId = enrollment.appId ?? kept?.appId;
  if (!code || appId === undefined) {
    const lacks = code ? 'its app by --app' : 'a code by --code-file or --code-stdin';
    throw new AgentFault('usage', `${credentialFile} has no enrolled credential yet: give ${lacks}.`);
  }
  const enrollCode = await code.read();
  const credential = kept?.credential ?? makeCredential(surroundings.randomBytes);
  if (!kept) await create(surroundings, credentialFile, { appId, credential, enrolled: false });
  const { platform, agentVersion, connection } = enrollment;
  const body = { appId, enrollCode, platform, agentVersion, connection, credentialHash: credentialHash(credential) };
  const outcome = await insist(enrollment, surroundings, signal, async () => {
    await device.enrollDevice(body, { credential, signal });
  });
  // The 15 minutes may be over since an attempt whose answer was lost.
  if (outcome && !(await isTaken(device, credential, enrollment, surroundings, signal))) {
    throw refusal(outcome, enrollment, kept);
  }
  return await enrolled({ appId, credential, enrolled: true }, enrollment, surroundings);
}

/** Keeps that the service has bound the credential. */
async function enrolled(
  { appId, credential }: Identity,
  { credentialFile }: Enrollment,
  { files, say }: Surroundings,
): Promise<Identity> {
  const identity = { appId, credential, enrolled: true };
  await files.replace(credentialFile, identityText(identity));
  say(`Enrolled as ${appId ?? 'an app'}.`);
  return identity;
}

function refuseOtherApp({ appId }: Identity, { appId: asked, credentialFile }: Enrollment): void {
  if (appId === undefined || asked === undefined || appId === asked) return;
  throw new AgentFault('usage', `${credentialFile} is the credential of the app ${appId}, not of ${asked}.`);
}

async function create({ files }: Surroundings, path: string, identity: Identity): Promise<void> {
  await files.create(path, identityText(identity)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
    throw new AgentFault('failed', `Another daemon has just made ${path}: each needs a file of its own.`);
  });
}

/**
 * Sends a request until the service decides it.
 * @returns undefined when it has succeeded, else the refusal
 */
async function insist(
  { once }: Enrollment,
  { say, clock, jitter }: Surroundings,
  signal: AbortSignal,
  send: () => Promise<void>,
): Promise<MusterError | undefined> {
  for (let failures = 1; ; failures += 1) {
    try {
      await send();
      return undefined;
    } catch (error) {
      if (!(error instanceof MusterError) || error.code === 'aborted') throw error;
      if (isRefusal(error)) return error;
      if (isWrongFromTheStart(error) || error.code === 'invalid_argument')
        throw new AgentFault('failed', `The enrollment failed: ${metWords(error)}`);
      if (once)
        throw new AgentFault('failed', `The enrollment has no answer: ${metWords(error)} Run it again to go on.`);
      const waitMs = outageBackoffMs(failures, error.retryAfterSeconds, jitter);
      say(`The enrollment has no answer yet: ${metWords(error)} Trying again in ${Math.ceil(waitMs / 1000)} s.`);
      await clock.sleep(waitMs, signal);
      signal.throwIfAborted();
    }
  }
}

/** Whether the service takes the credential already. */
async function isTaken(
  device: DeviceClient,
  credential: string,
  enrollment: Enrollment,
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<boolean> {
  device.useCredential(credential);
  const refused = await insist(
    enrollment,
    surroundings,
    signal,
    async () => void (await device.pollConfig({ signal })),
  );
  return refused === undefined;
}

function refusal({ code, message }: MusterError, enrollment: Enrollment, kept: Identity | undefined) {
  const { credentialFile } = enrollment;
  const from = code === 'invalid_code' ? ` The code is from ${enrollment.code?.from ?? ''}.` : '';
  const again = kept ? ` A new code needs a new credential where the app was revoked: remove ${credentialFile}.` : '';
  return new AgentFault('refused', `The service refuses the enrollment (${code}): ${message}${from}${again}`);
}
