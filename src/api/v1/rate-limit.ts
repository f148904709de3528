import type { FailedAttempts } from '../../domain/access-audit/failed-attempts.ts';
import { LIMITS } from '../../domain/limits.ts';
import type { LimitedAccounts } from '../../domain/limited-accounts/service.ts';
import type { RateDecision, RateLeft, RateWindow } from '../../domain/rate-window/local-window.ts';
import { atLimitOf } from '../../domain/records/attempt-records.ts';
import { andThen, catching, type MaybePromise } from '../../concurrency/maybe-promise.ts';
import { SECONDS } from '../../metrics/instruments/label-values.ts';
import type { Sections } from '../../metrics/instruments/sections.ts';
import type { Clock } from '../../time/clock.ts';
import { HttpRefusal } from '../http/errors.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Authenticated } from './authenticate.ts';

/** A request was charged, was refused with 429, or could not be decided (502). */
const RATE_RESULTS = ['admitted', 'limited', 'unavailable'] as const;

/** The verb by which decisions on the rate limit are counted and timed. */
export function rateDecisionMetrics({ rates }: Sections) {
  const decided = rates.counterOf({
    name: 'muster_rate_decisions_total',
    help: 'Decisions of the account rate window: admitted, limited (429), or unavailable (502).',
    labels: { decision: RATE_RESULTS },
    unit: 'requests',
  });
  const durations = rates.histogram({
    name: 'muster_rate_decision_duration_seconds',
    help: 'Duration of the decisions of the account rate window, by result.',
    labels: { result: RATE_RESULTS },
    buckets: SECONDS,
    unit: 'seconds',
  });
  return {
    /** @param seconds from the charge to the decision */
    rateDecided(result: (typeof RATE_RESULTS)[number], seconds: number): void {
      decided(result);
      durations.observe({ result }, seconds);
    },
  };
}

/** The window of the account, and whoever notes what it refuses. */
export interface RateLimitDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly rateWindow: RateWindow;
  readonly limitedAccounts: Pick<LimitedAccounts, 'refused'>;
  /** The audit hears of the refusals, once an hour. */
  readonly attempts: Pick<FailedAttempts, 'failed'>;
  readonly metrics: ReturnType<typeof rateDecisionMetrics>;
}

const POLICY = `"account";q=${LIMITS.requestsPerWindowMax};w=${LIMITS.rateWindowMs / 1000}`;

const headersOf = (window: RateLeft | undefined): readonly string[] => {
  const policy = ['RateLimit-Policy', POLICY];
  return window ? [...policy, 'RateLimit', `"account";r=${window.left};t=${window.freesInSeconds}`] : policy;
};

/**
 * H13, H14: charges the account, and adds the fields of the rate limit to the response of this exchange; where no
 * decision comes in time, they tell of the window as it is known.
 * @throws HttpRefusal `rate_limited`, with the seconds until a request is free; StoreUnavailable, Busy
 */
export function chargeInTime(
  exchange: Exchange,
  caller: Pick<Authenticated, 'account' | 'keyId'>,
  deps: RateLimitDeps,
): MaybePromise<undefined> {
  function failed(error: unknown): never {
    if (exchange.headers.length === 0) exchange.headers = headersOf(deps.rateWindow.known(caller.account.id));
    throw error;
  }
  return catching(() => exchange.inTimeIfLate(chargeAccount(exchange, caller, deps)), failed);
}

function chargeAccount(
  exchange: Exchange,
  { account, keyId }: Pick<Authenticated, 'account' | 'keyId'>,
  { clock, rateWindow, limitedAccounts, attempts, metrics }: RateLimitDeps,
): MaybePromise<undefined> {
  const startedAt = clock.monotonic();
  const seconds = (): number => (clock.monotonic() - startedAt) / 1000;
  function decided(decision: RateDecision): undefined {
    metrics.rateDecided(decision.admitted ? 'admitted' : 'limited', seconds());
    const { admitted, freesInSeconds } = decision;
    exchange.headers = headersOf(decision);
    if (admitted) return;
    const { route, request } = exchange;
    limitedAccounts.refused({ accountId: account.id, keyId, method: request.method ?? '', route, freesInSeconds });
    attempts.failed({ of: atLimitOf('rate.limited', account.id), keyId, client: exchange.client });
    throw new HttpRefusal('rate_limited', ['Retry-After', String(freesInSeconds)]);
  }
  function undecided(error: unknown): never {
    metrics.rateDecided('unavailable', seconds());
    throw error;
  }
  return andThen(
    catching(() => rateWindow.charge(account.id), undecided),
    decided,
  );
}
