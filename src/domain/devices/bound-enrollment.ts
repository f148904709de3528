import { withCode } from '../apps/app-state.ts';
import { ownApp, type Caller } from '../apps/own-app.ts';
import { generateEnrollCode, tokenHash } from '../credentials/tokens.ts';
import { appEntry } from '../fleet/reader.ts';
import { mutate } from '../mutation/mutation.ts';
import { StaleRead } from '../mutation/stale-read.ts';
import { withParts, type LeadingStep } from '../mutation/step.ts';
import { withRecord } from '../records/codec.ts';
import type { AppRecord } from '../records/app-records.ts';
import { Refusal } from '../refusal.ts';
import { enrollmentStep, type EnrollmentDeps } from './enrollment.ts';
import type { EnrollmentResult } from './metrics.ts';

/** A credential that was generated before; its text is in a Secret of Kubernetes. */
export interface GeneratedCredential {
  /** `tokenHash` of the whole credential. */
  readonly hash: string;
  /**
   * The app when this was decided: enrolled all the same, it would undo a revocation that came since, or would cut off
   * a daemon that did.
   */
  readonly before: Pick<AppRecord, 'status' | 'credential'>;
}

/**
 * Enrolls the app of a custom resource as `cloud`, without a daemon: a Secret holds the credential for one. The code
 * that this needs is issued and used within the commit, and nobody has its text; so the rules are those of every
 * enrollment (A4, A5, A8). The commit has the caller's precondition, and a repetition is StaleRead by it.
 * @throws Refusal `not_found`, `account_disabled`, or `conflict` where the credential is another app's by now;
 * StaleRead also where the app is another than it was; StoreUnavailable, BadRecord, Busy
 */
export async function enrollBound(
  deps: EnrollmentDeps,
  caller: Caller,
  appId: string,
  { hash, before }: GeneratedCredential,
): Promise<void> {
  const { origin } = caller;
  const code = { hash: tokenHash(generateEnrollCode(deps.random).reveal()), issuedAt: origin.at };
  const result = await mutate<EnrollmentResult>(
    deps,
    origin,
    async (reader): Promise<LeadingStep<EnrollmentResult>> => {
      const { account, app, expect, write } = await ownApp(caller, reader, appId);
      const { status, credential, platform, agentVersion } = app.record;
      if (status !== before.status || credential !== before.credential) {
        throw new StaleRead(`The app ${appId} is enrolled or revoked by now.`);
      }
      if (account.record.disabled) throw new Refusal('account_disabled');
      const step = await enrollmentStep(
        deps,
        reader,
        { account, app: appEntry(app.id, app.accountId, withRecord(app, withCode(app.record, code))) },
        { platform, agentVersion, connection: 'cloud', proved: true },
        { code: code.hash, credential: hash, at: origin.at, provisional: false },
      );
      if (!step) throw new Refusal('conflict', 'The credential is bound to another app. Delete the Secret.');
      return withParts(step, { expect, write });
    },
    caller.reader,
  );
  deps.metrics.enrollmentEnded(result);
}
