import { LIMITS } from '../../../domain/limits.ts';
import type { AppRecord } from '../../../domain/records/app-records.ts';
import { DAY_MS } from '../../../time/utc-days.ts';
import { isFalse, isTrue, type ConditionState } from '../runtime/conditions.ts';
import type { FleetAppSpec } from '../schema/fleet-app.ts';

/** The state of the code that was registered last; `none` where no code was. */
type CodeState = 'none' | 'open' | 'expired' | 'used' | 'voided';

/** A11: a code expires by the clock, whether or not it has been cleaned away. */
export function codeStateOf(app: AppRecord, code: { readonly hash: string } | undefined, at: number): CodeState {
  if (!code) return 'none';
  const open = app.codes.find(({ hash }) => hash === code.hash);
  if (open) return open.expiresAt > at ? 'open' : 'expired';
  return app.spent.find(({ hash }) => hash === code.hash)?.why ?? 'voided';
}

/** A code is renewed so long before it expires: longer than a weekend on which nobody works. */
export const RENEW_BEFORE_MS = 3 * DAY_MS;

interface CodeFacts {
  readonly spec: FleetAppSpec;
  readonly app: AppRecord;
  /** Whether this generation has not been carried out yet. */
  readonly fresh: boolean;
  readonly code: CodeState;
  /** Whether the Secret holds the code. */
  readonly inPlace: boolean;
  readonly expiresAt: number | undefined;
}

interface CodeWish {
  /** Whether a code is to be issued. */
  readonly issue: boolean;
  /** The condition `Ready` where none is. */
  readonly ready: ConditionState;
}

/** Decides whether an app needs another code. */
export function codeWish(facts: CodeFacts, at: number): CodeWish {
  const { spec, app } = facts;
  if (spec.desiredState === 'Revoked') return none(isTrue('Ready', 'Revoked', 'The app is revoked, as the spec says.'));
  switch (app.status) {
    case 'active':
      return none(isTrue('Ready', 'Active', 'The daemon is enrolled.'));
    case 'pending':
      return pending(facts, at);
    case 'revoked':
      return revoked(facts, at);
  }
}

const none = (ready: ConditionState): CodeWish => ({ issue: false, ready });
const ISSUED = isTrue('Ready', 'CodeIssued', 'The Secret holds a code for the daemon to enroll with.');

const modeOf = ({ enrollment }: FleetAppSpec): 'Once' | 'UntilEnrolled' | 'Never' => enrollment?.issue ?? 'Never';

function pending(facts: CodeFacts, at: number): CodeWish {
  const mode = modeOf(facts.spec);
  if (mode === 'Never') return none(isTrue('Ready', 'Created', 'The app exists; no code is to be issued for it.'));
  if (facts.code === 'none') return { issue: true, ready: ISSUED };
  if (mode === 'UntilEnrolled') return { issue: needsRenewal(facts, at), ready: ISSUED };
  if (facts.code === 'open' && facts.inPlace) return none(ISSUED);
  // The Secret has another name in this generation: that Secret gets a code of its own.
  if (facts.code === 'open' && facts.fresh) return { issue: true, ready: ISSUED };
  const message =
    'The one code does not work any more, or is not in the Secret. Set issue to UntilEnrolled for another.';
  return none(isFalse('Ready', 'CodeExpired', message));
}

/** A8: only a code that is issued after the revocation, and used, brings an app back. */
function revoked(facts: CodeFacts, at: number): CodeWish {
  const mode = modeOf(facts.spec);
  if (mode === 'Never') {
    const message = 'The app is revoked, and only a code brings it back; the spec asks for none.';
    return none(isFalse('Ready', 'Revoked', message));
  }
  // A revocation voids every code: an open one was issued after it, and an expired one may have been.
  const issuedAt = (facts.expiresAt ?? 0) - LIMITS.enrollCodeValidMs;
  const issued = facts.code === 'open' || (facts.code === 'expired' && issuedAt >= facts.app.statusAt);
  if (!issued && !facts.fresh) {
    const message = 'The app was revoked outside of Kubernetes. Change the spec to have a new code issued.';
    return none(isFalse('Ready', 'ChangedOutside', message));
  }
  if (!issued) return { issue: true, ready: ISSUED };
  if (mode === 'UntilEnrolled') return { issue: needsRenewal(facts, at), ready: ISSUED };
  return facts.code === 'open' && facts.inPlace
    ? none(ISSUED)
    : none(isFalse('Ready', 'CodeExpired', 'The one code does not work any more, or is not in the Secret.'));
}

const needsRenewal = ({ code, inPlace, expiresAt = 0 }: CodeFacts, at: number): boolean =>
  code !== 'open' || !inPlace || expiresAt - at <= RENEW_BEFORE_MS;
