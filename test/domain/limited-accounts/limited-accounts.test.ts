import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mergedLimits, observedLimits } from '../../../src/domain/limited-accounts/limited-accounts.ts';
import {
  ACCOUNTS_IN_MEMORY_MAX,
  KEYS_PER_ACCOUNT_MAX,
  OPERATIONS_PER_KEY_MAX,
  OTHERS,
  RefusedRequests,
  type RefusedRequest,
} from '../../../src/domain/limited-accounts/refused-requests.ts';
import { SlidingCount } from '../../../src/domain/limited-accounts/sliding-count.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { createLog } from '../../../src/log.ts';
import { runs } from '../../support/run/effort.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

function counting() {
  const clock = new FakeClock();
  const lines: { readonly msg: string; readonly accountId: string; readonly refused: number }[] = [];
  const log = createLog('info', { write: (line) => void lines.push(JSON.parse(line) as (typeof lines)[number]) });
  const requests = new RefusedRequests({ clock, log });
  const refuse = (more: Partial<RefusedRequest> = {}): void =>
    requests.refused({ accountId: 'a', keyId: 'k', method: 'GET', route: '/v1/apps', freesInSeconds: 7, ...more });
  return { clock, lines, requests, refuse };
}

describe('a count of the last minute', () => {
  test('is exact for what is younger than 55 s, and has nothing that is older than 60 s', () => {
    const step = fc.tuple(fc.integer({ min: 0, max: 30_000 }), fc.boolean());
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e9 }), fc.array(step), (start, steps) => {
        const [count, events]: [SlidingCount, number[]] = [new SlidingCount(), []];
        let now = start;
        for (const [pause, isEvent] of steps) {
          now += pause;
          if (isEvent) {
            count.add(now);
            events.push(now);
          }
          const younger = (ms: number): number => events.filter((at) => now - at < ms).length;
          expect(count.at(now)).toBeGreaterThanOrEqual(younger(55_000));
          expect(count.at(now)).toBeLessThanOrEqual(younger(60_000));
        }
      }),
      { numRuns: runs(200) },
    );
  });
});

describe('the requests that a replica refused', () => {
  test('are told by account, key and operation, with the time since when and until when', () => {
    const { clock, requests, refuse } = counting();
    const since = clock.now();
    refuse();
    refuse({ keyId: 'other', method: 'POST' });
    clock.advance(10_000);
    refuse();
    refuse({ accountId: 'b', route: '(none)' });
    expect(requests.accounts()).toEqual([
      {
        accountId: 'a',
        refused: 3,
        since,
        liftsAt: clock.now() + 7000,
        by: [
          { keyId: 'k', operation: 'GET /v1/apps', refused: 2 },
          { keyId: 'other', operation: 'POST /v1/apps', refused: 1 },
        ],
      },
      expect.objectContaining({ accountId: 'b', refused: 1, since: since + 10_000 }),
    ]);
  });

  test('an account is limited no longer a minute after its last refusal, and anew with the next one', () => {
    const { clock, requests, refuse } = counting();
    refuse();
    clock.advance(59_999);
    expect(requests.accounts()).toHaveLength(1);
    clock.advance(1);
    expect(requests.accounts()).toEqual([]);
    refuse();
    expect(requests.accounts()).toMatchObject([{ refused: 1, since: clock.now() }]);
  });

  test('a line of the log tells of an account once a minute', () => {
    const { clock, lines, refuse } = counting();
    for (let n = 0; n < 70; n += 1) {
      for (let m = 0; m < 3; m += 1) refuse();
      refuse({ accountId: 'b' });
      clock.advance(1000);
    }
    expect(lines.map(({ msg, accountId }) => `${msg}: ${accountId}`)).toEqual(
      ['a', 'b', 'a', 'b'].map((account) => `an account is rate limited: ${account}`),
    );
    expect(lines.map(({ refused }) => refused)).toEqual([1, 1, expect.any(Number), expect.any(Number)]);
  });

  test('are bounded, and none is lost from the sum of an account', () => {
    const { requests, refuse } = counting();
    for (let key = 0; key < 50; key += 1) {
      for (let route = 0; route < 20; route += 1) refuse({ keyId: `key${key}`, route: `/v1/${route}` });
    }
    const [account] = requests.accounts();
    expect(account?.refused).toBe(1000);
    expect(account?.by.reduce((sum, { refused }) => sum + refused, 0)).toBe(1000);
    expect(new Set(account?.by.map(({ keyId }) => keyId)).size).toBe(KEYS_PER_ACCOUNT_MAX + 1);
    expect(account?.by).toHaveLength((KEYS_PER_ACCOUNT_MAX + 1) * (OPERATIONS_PER_KEY_MAX + 1));
    expect(account?.by).toContainEqual({ keyId: OTHERS, operation: OTHERS, refused: 45 * 15 });
  });

  test('however many accounts there are, those that are refused most stay', () => {
    const { requests, refuse } = counting();
    const noisy = Array.from({ length: 10 }, (_, n) => `noisy${n}`);
    for (let n = 0; n < 1000; n += 1) {
      refuse({ accountId: `once${n}` });
      for (const accountId of noisy) refuse({ accountId });
    }
    const accounts = requests.accounts();
    expect(accounts).toHaveLength(ACCOUNTS_IN_MEMORY_MAX);
    expect(new Set(accounts.slice(0, 10).map(({ accountId }) => accountId))).toEqual(new Set(noisy));
    expect(accounts.slice(0, 10).map(({ refused }) => refused)).toEqual(noisy.map(() => 1000));
  });

  test('what a replica publishes stays below 72 KiB at worst, and is nothing in peace', () => {
    const { requests, refuse } = counting();
    expect(observedLimits(requests, new Map([['a', 0.24]]))).toEqual({});
    for (let account = 0; account < 300; account += 1) {
      for (let key = 0; key < 7; key += 1) {
        for (let route = 0; route < 7; route += 1) {
          refuse({
            accountId: `account${String(account).padStart(9, '0')}`,
            keyId: `keyid${String(key).padStart(7, '0')}`,
            route: `/v1/apps/:appId/enroll-code-${route}`,
          });
        }
      }
    }
    const fills = new Map(Array.from({ length: 5000 }, (_, n) => [`account${String(n).padStart(9, '0')}`, 0.9876543]));
    const { limited } = observedLimits(requests, fills);
    expect([limited?.accounts.length, limited?.ids.length, limited?.fills.length]).toEqual([20, 200, 200]);
    expect(JSON.stringify(limited).length).toBeLessThan(72 * 1024);
    expect(KEYS.replica.schema.shape.limited.parse(limited)).toEqual(limited);
  });
});

describe('what all replicas know together', () => {
  const account = (accountId: string, refused: number, more = {}) => ({
    accountId,
    refused,
    since: 5,
    liftsAt: 9,
    by: [{ keyId: 'k', operation: 'GET /v1/apps', refused }],
    ...more,
  });

  test('refusals are added up, and each account is counted once', () => {
    const merged = mergedLimits([
      { limited: { accounts: [account('a', 3), account('b', 1)], ids: ['a', 'b', 'c'], fills: [['a', 1]] } },
      {
        limited: {
          accounts: [account('a', 4, { since: 2, liftsAt: 11 })],
          ids: ['a', 'd'],
          fills: [
            ['e', 0.5],
            ['a', 0.9],
          ],
        },
      },
      {},
    ]);
    expect(merged.limited).toBe(4);
    expect(merged.accounts).toEqual([
      {
        accountId: 'a',
        fill: 1,
        refused: 7,
        since: 2,
        liftsAt: 11,
        by: [{ keyId: 'k', operation: 'GET /v1/apps', refused: 7 }],
      },
      { accountId: 'b', fill: 1, refused: 1, since: 5, liftsAt: 9, by: account('b', 1).by },
      { accountId: 'e', fill: 0.5, refused: 0, since: undefined, liftsAt: undefined, by: [] },
    ]);
  });
});
