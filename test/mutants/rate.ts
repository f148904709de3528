import type { Mutant } from './mutant.ts';

/** The account window. */
export const RATE: readonly Mutant[] = [
  {
    name: 'the window of one process admits one request too many',
    file: 'src/domain/rate-window/local-window.ts',
    search: 'const admitted = countAt(ring, now) < LIMITS.requestsPerWindowMax;',
    replacement: 'const admitted = countAt(ring, now) <= LIMITS.requestsPerWindowMax;',
    rule: 'H13: a 601st request within 60 s is refused.',
    caughtBy: [
      'test/api/v1/check-order.test.ts',
      'test/api/v1/rate-limit.test.ts',
      'test/domain/rate-window/local-window.test.ts',
    ],
  },
  {
    name: 'a lease is used while a commit that settles it is unanswered',
    file: 'src/domain/rate-window/shared/own-lease.ts',
    search: 'return lease && unanswered.length === 0 && now.latest < lease.usedUntil ? lease.units - lease.spent : 0;',
    replacement: 'return lease && now.latest < lease.usedUntil ? lease.units - lease.spent : 0;',
    rule: 'H13: all replicas together never admit more than 600 requests in 60 s, also where answers of the store are lost.',
    caughtBy: ['test/domain/rate-window/shared/shared-window.test.ts'],
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
