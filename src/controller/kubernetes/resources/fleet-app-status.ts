import { isFalse, isTrue, type Finding } from '../runtime/conditions.ts';
import type { Settled } from '../runtime/kind.ts';
import type { FleetAppStatus } from '../schema/fleet-app.ts';
import { codeStateOf, RENEW_BEFORE_MS } from './fleet-app-code.ts';
import type { FleetAppFacts, FleetAppResource } from './fleet-app-facts.ts';

/** Last contacts are told in steps: a status that moved with every poll would be a write for each. */
export const SEEN_GRAIN_MS = 300_000;
export const SLOW_AGAIN_MS = 300_000;
/** Whatever was missed is found after so long. */
const LONGEST_MS = 600_000;

const instant = (at: number): string => new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');

/** The status of a FleetApp of which nothing is left to be done. */
export function settledApp(
  { spec }: FleetAppResource,
  facts: FleetAppFacts,
  ready: Finding,
  at: number,
  againMs: number = Infinity,
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
  // Where nothing would be renewed, the next thing to happen to a code is its end.
  const renews = ready.reason === 'CodeIssued' && spec.enrollment?.issue === 'UntilEnrolled';
  const expiryMs = code && state === 'open' ? code.expiresAt - (renews ? RENEW_BEFORE_MS : 0) - at : Infinity;
  const next = Math.min(againMs, expiryMs, active ? SEEN_GRAIN_MS : LONGEST_MS);
  return { settled: { status, findings: [ready, enrolled], againMs: next } };
}
