import type { Mutant } from './mutant.ts';

/** The account window. */
export const RATE: readonly Mutant[] = [
  {
    name: 'the window of one process admits one request too many',
    file: 'src/domain/rate-window/local-account.ts',
    search: 'const admitted = this.countAt(now) < LIMITS.requestsPerWindowMax;',
    replacement: 'const admitted = this.countAt(now) <= LIMITS.requestsPerWindowMax;',
    rule: 'H13: a 601st request within 60 s is refused.',
    caughtBy: [
      'test/api/v1/check-order.test.ts',
      'test/api/v1/rate-limit.test.ts',
      'test/domain/rate-window/local-window.test.ts',
    ],
  },
  {
    name: 'units of a slice are spent before it is on disk',
    file: 'src/domain/rate-window/local-account.ts',
    search: 'await this.#deps.keep({ spent: this.#spent.toArray(), units, until });',
    replacement: 'void this.#deps.keep({ spent: this.#spent.toArray(), units, until }).catch(() => undefined);',
    rule: 'H13: no unit is admitted that a restart after a kill would not find recorded.',
    caughtBy: ['test/domain/rate-window/local-window.test.ts', 'test/domain/rate-window/kept-windows.test.ts'],
  },
  {
    name: 'what another boot recorded has an age',
    file: 'src/domain/rate-window/kept-windows.ts',
    search: 'boot !== undefined && record.boot === boot && at <= Math.ceil(now);',
    replacement: 'at <= Math.ceil(now);',
    rule: 'H13: after a reboot all that was recorded counts from the restart.',
    caughtBy: ['test/domain/rate-window/kept-windows.test.ts'],
  },
  {
    name: 'a crashed slice is forgotten',
    file: 'src/domain/rate-window/kept-windows.ts',
    search: 'return [...known, ...repeated(slice.units, Math.min(now, slice.until))];',
    replacement: 'return known;',
    rule: 'H13: a crashed slice counts as spent at the restart.',
    caughtBy: ['test/domain/rate-window/kept-windows.test.ts'],
  },
  {
    name: 'a lease is used while a commit that settles it is unanswered',
    file: 'src/domain/rate-window/shared/own-lease.ts',
    search: 'return lease && unanswered.length === 0 && now < lease.usedUntil ? lease.units - lease.spent : 0;',
    replacement: 'return lease && now < lease.usedUntil ? lease.units - lease.spent : 0;',
    rule: 'H13: all replicas together never admit more than 600 requests in 60 s, also where answers of the store are lost.',
    caughtBy: ['test/domain/rate-window/shared/shared-window.test.ts'],
  },
  {
    name: 'revisions that were seen within 50 ms count from the first of them',
    file: 'src/domain/rate-window/shared/revision-clock.ts',
    search: '[last.revision, last.at] = [revision, at];',
    replacement: 'last.revision = revision;',
    rule: 'H13: no unit seems older than it is, whatever the clocks say.',
    caughtBy: ['test/domain/rate-window/shared/revision-clock.test.ts'],
  },
  {
    name: 'the age of a unit is ignored',
    file: 'src/domain/rate-window/shared/record-codec.ts',
    search: 'return { at: instantOf(revision) - ageMs, stamp: { revision, ageMs } };',
    replacement: 'return { at: instantOf(revision), stamp: { revision, ageMs } };',
    rule: 'H13: a request is refused only if 600 were admitted in the preceding 62.5 s.',
    caughtBy: ['test/domain/rate-window/shared/record-codec.test.ts'],
  },
  {
    name: 'a lease is used after the machine was suspended',
    file: 'src/domain/rate-window/shared/own-lease.ts',
    search: 'usedUntil: Number.NEGATIVE_INFINITY });',
    replacement: '});',
    rule: 'H13: nothing is admitted from a lease that has ended for the other replicas.',
    caughtBy: [
      'test/domain/rate-window/shared/shared-window.test.ts',
      'test/domain/rate-window/shared/simulation.test.ts',
    ],
  },
  {
    name: '429 does not say when to come back',
    file: 'src/api/v1/rate-limit.ts',
    search: `throw new HttpRefusal('rate_limited', ['Retry-After', seconds]);`,
    replacement: `throw new HttpRefusal('rate_limited');`,
    rule: 'H14: a 429 bears Retry-After with the seconds until a place frees.',
    caughtBy: ['test/api/v1/rate-limit.test.ts', 'test/service/replicas/rate-window.test.ts'],
  },
];
