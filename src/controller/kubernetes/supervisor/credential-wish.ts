import type { AppRecord } from '../../../domain/records/app-records.ts';
import { isFalse, isTrue, type ConditionState } from '../runtime/conditions.ts';
import type { FleetAppSpec } from '../schema/fleet-app.ts';

/** The facts that the wish for a credential depends on. */
interface CredentialFacts {
  readonly spec: FleetAppSpec;
  readonly app: Pick<AppRecord, 'status'>;
  /** Whether this generation has not been carried out yet. */
  readonly fresh: boolean;
  /** Whether the credential that works is the one that Muster made for this resource. */
  readonly ours: boolean;
  /** Whether the Secret holds that one. */
  readonly inPlace: boolean;
  /** Whether the account is disabled: nothing enrolls in it. */
  readonly disabled: boolean;
}

interface CredentialWish {
  /** Whether a credential is to be made, and the app to be enrolled with it. */
  readonly issue: boolean;
  /** The condition `Ready` where none is. */
  readonly ready: ConditionState;
}

/**
 * Decides whether an app is to be enrolled with a credential of Muster's making. An app that another daemon is enrolled
 * as is never taken over: it is to be revoked first.
 */
export function credentialWish(facts: CredentialFacts): CredentialWish {
  const wish = wishOf(facts);
  if (!wish.issue || !facts.disabled) return wish;
  return none(isFalse('Ready', 'Refused', 'The account is disabled; no credential is made until it is enabled.'));
}

const none = (ready: ConditionState): CredentialWish => ({ issue: false, ready });
const ISSUE: CredentialWish = {
  issue: true,
  ready: isTrue('Ready', 'Active', 'The Secret holds the configuration of a supervisor, with a credential that works.'),
};

function wishOf({ spec, app, fresh, ours, inPlace }: CredentialFacts): CredentialWish {
  if (spec.desiredState === 'Revoked') return none(isTrue('Ready', 'Revoked', 'The app is revoked, as the spec says.'));
  const mode = spec.enrollment?.issue ?? 'Never';
  if (app.status === 'active') {
    if (ours && inPlace) return none(ISSUE.ready);
    if (mode === 'Never') return none(isTrue('Ready', 'Active', 'The daemon is enrolled.'));
    if (!ours) return none(enrolledOutside);
    // The Secret has another name in this generation: that Secret gets a credential of its own.
    return mode === 'UntilEnrolled' || fresh ? ISSUE : none(lost);
  }
  if (app.status === 'pending') {
    if (mode !== 'Never') return ISSUE;
    return none(isTrue('Ready', 'Created', 'The app exists; no credential is to be made for it.'));
  }
  if (mode === 'Never') {
    const message = 'The app is revoked, and only another credential brings it back; the spec asks for none.';
    return none(isFalse('Ready', 'Revoked', message));
  }
  // A8: more access once for each generation of the spec.
  return fresh ? ISSUE : none(changedOutside);
}

const enrolledOutside = isFalse(
  'Ready',
  'EnrolledOutside',
  'A daemon is enrolled as this app by a credential that Muster did not make here, and keeps it. Set desiredState to ' +
    'Revoked, and then to Active, to have a credential of its own in the Secret.',
);
const lost = isFalse(
  'Ready',
  'CredentialLost',
  'The one credential is not in the Secret any more. Set issue to UntilEnrolled for another.',
);
const changedOutside = isFalse(
  'Ready',
  'ChangedOutside',
  'The app was revoked outside of Kubernetes. Change the spec to have it enrolled again.',
);
