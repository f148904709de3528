import { isFalse, isTrue, type ConditionState } from '../runtime/conditions.ts';
import type { Settled } from '../runtime/kind.ts';
import type { FleetAppStatus } from '../schema/fleet-app.ts';
import { codeStateOf, RENEW_BEFORE_MS } from './fleet-app-code.ts';
import type { FleetAppFacts, FleetAppResource } from './fleet-app-facts.ts';

/** Last contacts are rounded down to this step: a status that moved with every poll would cost a write for each. */
const SEEN_GRAIN_MS = 300_000;
export const SLOW_REQUEUE_MS = 300_000;
/** A change that was missed is found after so long. */
const REQUEUE_MS_MAX = 600_000;

const instant = (at: number): string => new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');

/** The status of a FleetApp for which no step is left. */
export function settledApp(
  { spec }: FleetAppResource,
  facts: FleetAppFacts,
  ready: ConditionState,
  at: number,
  requeueAfterMs: number = Infinity,
): Settled<FleetAppStatus> {
  const { binding, app, seenAt } = facts;
  const code = app && binding?.record.code;
  const state = app && codeStateOf(app, code, at);
  const active = app?.status === 'active';
  const status: Omit<FleetAppStatus, 'conditions'> = {
    ...(binding?.record.appId !== undefined && { appId: binding.record.appId }),
    ...(app && { state: app.status }),
    ...(app?.platform !== undefined && app.platform !== '' && { platform: app.platform }),
    ...(app?.agentVersion !== undefined && app.agentVersion !== '' && { agentVersion: app.agentVersion }),
    ...(seenAt !== null && { lastSeenAt: instant(Math.floor(seenAt / SEEN_GRAIN_MS) * SEEN_GRAIN_MS) }),
    ...(code && {
      enrollment: { ...(state === 'open' && { expiresAt: instant(code.expiresAt) }), consumed: state === 'used' },
    }),
  };
  const enrolled = active
    ? isTrue('Enrolled', 'Enrolled', 'The daemon has a credential that works.')
    : isFalse('Enrolled', 'NotEnrolled', 'No daemon has a credential of this app.');
  // A code that is not renewed is checked again when it expires.
  const renews = ready.reason === 'CodeIssued' && spec.enrollment?.issue === 'UntilEnrolled';
  const expiryMs = code && state === 'open' ? code.expiresAt - (renews ? RENEW_BEFORE_MS : 0) - at : Infinity;
  const next = Math.min(requeueAfterMs, expiryMs, active ? SEEN_GRAIN_MS : REQUEUE_MS_MAX);
  return { settled: { status, conditions: [ready, enrolled], requeueAfterMs: next } };
}
