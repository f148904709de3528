import { expectAsFound, expectUnchanged, type Write } from '../../store/port.ts';
import { HOUR_MS } from '../../time/utc-days.ts';
import { enrolled } from '../apps/app-state.ts';
import { namesRead } from '../audit/names.ts';
import type { Secret } from '../credentials/secret.ts';
import { generateCredential, isEnrollCode, tokenHash } from '../credentials/tokens.ts';
import type { FleetReader, FoundApp } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import { commitSteps } from '../mutation/commit.ts';
import { mutate } from '../mutation/mutation.ts';
import {
  requestFields,
  type LeadingStep,
  type MutationDeps,
  type Origin,
  type Step,
  type Unchanged,
} from '../mutation/step.ts';
import { parseRecord, put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { Refusal } from '../refusal.ts';
import { appTransition, type Transition, type TransitionDeps } from '../status-history/status-change.ts';
import { claimOf, type Claim, type Loser } from './credential-binding.ts';
import type { EnrollmentMetrics, EnrollmentResult } from './metrics.ts';

/** The fields of `POST /device/v1/enroll`, validated. */
interface EnrollRequest {
  readonly appId: string;
  readonly enrollCode: string;
  readonly platform: string;
  readonly agentVersion: string;
  readonly connection: 'cloud' | 'private';
  /**
   * SHA-256 of a token that the daemon generated, base64url; where it is absent, the service generates the credential.
   */
  readonly credentialHash: string | undefined;
  /** The request has that credential itself, and not its hash alone. */
  readonly proved: boolean;
}

interface Enrolled {
  readonly appId: string;
  /** Present where the service generated it. */
  readonly credential: Secret | undefined;
}

/** The services, clock and metrics of enrollments. */
export interface EnrollmentDeps extends Omit<MutationDeps, 'metrics'>, Pick<TransitionDeps, 'clockWatch'> {
  readonly metrics: MutationDeps['metrics'] & EnrollmentMetrics;
}

/**
 * Why an enrollment is refused. The answer is `invalid_code`; metrics, the log and, rarely, the audit have the reason.
 */
class NotEnrolled extends Error {
  override readonly name = 'NotEnrolled';
  readonly result: EnrollmentResult;
  readonly found: FoundApp | undefined;

  constructor(result: EnrollmentResult, found?: FoundApp) {
    super(result);
    this.result = result;
    this.found = found;
  }
}

/**
 * Binds a daemon to its app with a code, which works once (A4, A5). The same code with the same credential hash is
 * answered again for `LIMITS.enrollReplayMs`.
 * @throws Refusal `invalid_code` or `account_disabled`; StoreUnavailable, Busy
 */
export async function enroll(deps: EnrollmentDeps, request: EnrollRequest, origin: Origin): Promise<Enrolled> {
  const credential = request.credentialHash === undefined ? generateCredential(deps.random) : undefined;
  const bound = credential ? tokenHash(credential.reveal()) : (request.credentialHash ?? '');
  try {
    if (!isEnrollCode(request.enrollCode)) throw new NotEnrolled('malformed_code');
    const code = tokenHash(request.enrollCode);
    const binding: Binding = { code, credential: bound, at: origin.at };
    deps.metrics.enrollmentEnded(
      await mutate<EnrollmentResult>(deps, origin, (reader) => decide(deps, reader, request, binding)),
    );
    return { appId: request.appId, credential };
  } catch (error) {
    if (!(error instanceof NotEnrolled)) throw error;
    await report(deps, origin, request.appId, error);
    throw new Refusal(error.result === 'account_disabled' ? 'account_disabled' : 'invalid_code');
  }
}

async function decide(
  deps: TransitionDeps & Pick<EnrollmentDeps, 'store'>,
  reader: FleetReader,
  request: EnrollRequest,
  binding: Binding,
): Promise<LeadingStep<EnrollmentResult> | Unchanged<EnrollmentResult>> {
  const found = await reader.appById(request.appId);
  if (!found) throw new NotEnrolled('unknown_app');
  const { account, app } = found;
  if (isReplay(found, request, binding)) {
    if (account.record.disabled) throw new NotEnrolled('account_disabled', found);
    return { unchanged: 'replayed' };
  }
  const open = app.record.codes.find((code) => code.hash === binding.code);
  if (!open) throw new NotEnrolled(whySpent(found, binding.code), found);
  if (binding.at >= open.expiresAt) throw new NotEnrolled('expired_code', found);
  if (account.record.disabled) throw new NotEnrolled('account_disabled', found);
  // A credential that the service makes is known to nobody else.
  const provisional = request.credentialHash !== undefined && !request.proved;
  const step = await enrollmentStep(deps, reader, found, request, { ...binding, provisional });
  if (!step) throw new NotEnrolled('bound_credential', found);
  return step;
}

/** An enrollment whose code is open. */
interface Binding {
  /** The hash of the code, which is open in the app's record. */
  readonly code: string;
  /** The hash of the credential. */
  readonly credential: string;
  /** The instant of the request in milliseconds since 1970. */
  readonly at: number;
}

/**
 * The change that binds a credential to an app by an open code (A4, A5): every enrollment is this one, whoever asks.
 * @returns undefined where the credential is or was bound to an existing app, and stays so
 * @throws StoreUnavailable; BadRecord
 */
export async function enrollmentStep(
  deps: TransitionDeps & Pick<EnrollmentDeps, 'store'>,
  reader: FleetReader,
  found: FoundApp,
  request: Pick<EnrollRequest, 'platform' | 'agentVersion' | 'connection' | 'proved'>,
  binding: Binding & { readonly provisional: boolean },
): Promise<LeadingStep<EnrollmentResult> | undefined> {
  const { app } = found;
  const claim = await claimOf(deps.store, app, binding.credential, request.proved);
  if (!claim) return undefined;
  // A4: an active app goes on with another credential; its status has not changed.
  const changes =
    app.record.status === 'active' ? undefined : await appTransition(deps, reader, app, 'active', binding.at);
  return bindingStep(found, request, binding, claim, changes);
}

/** The request repeats the last enrollment, whose answer may be lost, and its credential is still the current one. */
function isReplay({ app }: FoundApp, request: EnrollRequest, binding: Binding): boolean {
  const before = app.record.enrolled;
  return (
    request.credentialHash !== undefined &&
    app.record.status === 'active' &&
    before?.code === binding.code &&
    before.credential === binding.credential &&
    app.record.credential === binding.credential &&
    binding.at < before.at + LIMITS.enrollReplayMs
  );
}

function whySpent({ app }: FoundApp, code: string): EnrollmentResult {
  const spent = app.record.spent.find((gone) => gone.hash === code);
  return spent ? (`${spent.why}_code` as const) : 'unknown_code';
}

function bindingStep(
  { account, app }: FoundApp,
  request: Pick<EnrollRequest, 'platform' | 'agentVersion' | 'connection' | 'proved'>,
  binding: Binding & { readonly provisional: boolean },
  claim: Claim,
  changes: Transition | undefined,
): LeadingStep<EnrollmentResult> {
  const { platform, agentVersion, connection } = request;
  const record = enrolled(app.record, { ...binding, platform, agentVersion, connection }, changes?.at);
  const locator = KEYS.credential(binding.credential);
  const { from } = claim;
  const former = app.record.credential;
  const swapped = former === binding.credential ? undefined : former;
  const write: Write[] = [
    put(KEYS.app(account.id, app.id), record),
    put(locator, { accountId: account.id, appId: app.id, ...(binding.provisional && { provisional: true }) }),
    // The acknowledgement of the former machine does not hold for this one.
    { remove: KEYS.ack(account.id, app.id) },
    { remove: KEYS.opampAgent(account.id, app.id) },
    ...(swapped === undefined ? [] : [put(KEYS.pastCredential(app.id, swapped), {})]),
    ...claim.write,
    ...(changes?.write ?? []),
  ];
  return {
    accountId: account.id,
    action: 'app.enrolled',
    appId: app.id,
    detail: {
      from: app.record.status,
      platform,
      agentVersion,
      connection,
      swapped: swapped !== undefined,
      ...(request.proved && { proved: true }),
      ...(from && { tookFrom: from.appId }),
    },
    ...(changes && { countsAt: changes.at }),
    expect: [expectUnchanged(account), expectUnchanged(app), claim.expect, ...(changes?.expect ?? [])],
    write,
    ...(from && { first: [losing(from, app.id)] }),
    result: from ? 'took_over' : 'enrolled',
  };
}

/** The change of the app that the credential was bound to provisionally. */
const losing = ({ accountId, appId, expect, write }: Loser, to: string): Step<unknown> => ({
  accountId,
  action: 'credential.yielded',
  appId,
  detail: { to },
  expect: [expect],
  write,
  result: undefined,
});

async function report(deps: EnrollmentDeps, origin: Origin, appId: string, why: NotEnrolled): Promise<void> {
  deps.metrics.enrollmentEnded(why.result);
  const onceValid = why.result !== 'unknown_code' && why.found !== undefined;
  // A disabled account has a valid code.
  if (why.result !== 'account_disabled') {
    deps.metrics.authenticationFailed('enroll_code', onceValid ? 'once_valid' : 'unknown');
  }
  const accountId = why.found?.account.id;
  const told = { ...requestFields(origin), client: origin.client };
  deps.log.info({ ...told, accountId, appId: why.found && appId, reason: why.result }, 'not enrolled');
  if (!onceValid || accountId === undefined) return;
  await audit(deps, origin, { accountId, appId, reason: why.result }).catch((error: unknown) => {
    // The refusal stands whether or not its audit entry could be written.
    deps.log.info({ err: error, ...requestFields(origin) }, 'a refused enrollment could not be audited');
  });
}

/**
 * Writes at most one entry per app and hour over all replicas: the commit expects the note of the last one as it was
 * read.
 */
async function audit(
  deps: EnrollmentDeps,
  origin: Origin,
  refused: { accountId: string; appId: string; reason: EnrollmentResult },
): Promise<void> {
  const { accountId, appId, reason } = refused;
  const key = KEYS.refusalNote(accountId, appId);
  const entry = await deps.store.get(key);
  const note = entry && parseRecord(KEYS.refusalNote, entry);
  if (note && origin.at < note.record.at + HOUR_MS) return;
  const reader = await deps.fleet.current();
  const app = (await reader.appById(appId))?.app;
  if (!app) return;
  const step: Step<void> = {
    accountId,
    action: 'enrollment.refused',
    appId,
    detail: { reason },
    // The commit expects the app: a note must not outlive its deletion.
    expect: [expectAsFound(key, note), expectUnchanged(app)],
    write: [put(key, { ...note?.record, at: origin.at })],
    result: undefined,
  };
  await commitSteps(deps, [{ origin, step }], namesRead(reader));
}
