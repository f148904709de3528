import fc from 'fast-check';
import type { CommitFate } from '../store/faulty-store.ts';
import { HOUR_MS, MINUTE_MS } from './metering.ts';

/* Random steps of a fleet over some days: requests, faults, and time that passes. */

export type Step =
  | { readonly kind: 'act'; readonly acts: readonly Act[] }
  | { readonly kind: 'pass'; readonly ms: number | 'to midnight' | 'to before midnight' }
  | { readonly kind: 'clock'; readonly replica: number; readonly aheadMs: number }
  | { readonly kind: 'store'; readonly replica: number; readonly fates: CommitFate[] }
  | { readonly kind: 'stall'; readonly replica: number; readonly ms: number }
  | { readonly kind: 'outage'; readonly replica: number; readonly down: boolean }
  | { readonly kind: 'controller'; readonly replica: number; readonly down: boolean }
  | { readonly kind: 'restart'; readonly replica: number; readonly awayMs: number }
  | Midnight;

/**
 * Requests around a midnight. The first of them stall on their way while time passes, and others come meanwhile; then
 * the two clocks are swapped.
 */
export interface Midnight {
  readonly kind: 'midnight';
  /** How far each clock is ahead during the first acts; they are swapped for the last ones. */
  readonly aheadMs: readonly [number, number];
  readonly offsetMs: number;
  readonly first: readonly Act[];
  readonly stalledMs: number;
  readonly meanwhile: readonly Act[];
  readonly last: readonly Act[];
}

export interface Act {
  readonly what: 'account' | 'create' | 'enroll' | 'revoke' | 'remove' | 'disable' | 'enable';
  readonly replica: number;
  readonly slot: number;
}

const replica = fc.nat(1);
const WHAT = [
  ...(['create', 'create', 'enroll', 'enroll', 'enroll', 'revoke', 'revoke', 'remove'] as const),
  ...(['disable', 'enable', 'enable', 'account'] as const),
] as const;
const act = fc.record({ what: fc.constantFrom<Act['what']>(...WHAT), replica, slot: fc.nat(5) });
const kind = <Kind extends Step['kind']>(of: Kind): fc.Arbitrary<Kind> => fc.constant(of);
const pass = fc.oneof(
  fc.constantFrom('to midnight' as const, 'to before midnight' as const),
  fc.constantFrom(1, 300, MINUTE_MS, 5 * MINUTE_MS, HOUR_MS, 3 * 24 * HOUR_MS),
  fc.nat(30 * HOUR_MS),
);
const fate = fc.constantFrom<CommitFate>('answer lost after commit', 'lost before commit', 'conflict', 'passes');

const aheadMs = fc.integer({ min: -12_000, max: 12_000 });
const acts = fc.array(act, { minLength: 1, maxLength: 4 });
const near = fc.oneof(fc.constantFrom(-1, 0, -1000), fc.integer({ min: -12_000, max: 1000 }));
const midnight: fc.Arbitrary<Midnight> = fc.record({
  kind: kind('midnight'),
  aheadMs: fc.tuple(aheadMs, aheadMs),
  offsetMs: near,
  first: acts,
  // Some are so long that the night is metered meanwhile.
  stalledMs: fc.oneof(fc.constant(7 * MINUTE_MS), fc.integer({ min: 1, max: 20_000 })),
  meanwhile: acts,
  last: acts,
});

/** Each with its weight. */
export const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: kind('act'), acts }) },
  { weight: 6, arbitrary: midnight },
  { weight: 5, arbitrary: fc.record({ kind: kind('pass'), ms: pass }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: kind('clock'), replica, aheadMs }),
  },
  { weight: 1, arbitrary: fc.record({ kind: kind('store'), replica, fates: fc.array(fate, { maxLength: 4 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: kind('stall'), replica, ms: fc.constantFrom(1, 500, 10_000, 7 * MINUTE_MS) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: kind('outage'), replica, down: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('controller'), replica, down: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: kind('restart'), replica, awayMs: fc.constantFrom(0, MINUTE_MS, 50 * HOUR_MS) }),
  },
);
