import { andThen, type MaybePromise } from '../../concurrency/maybe-promise.ts';
import { LIMITS } from '../../domain/limits.ts';
import type { RateDecision, RateWindow } from '../../domain/rate-window/local-window.ts';
import { HttpRefusal, type Exchange } from '../http/exchange.ts';

/** The verb by which decisions on the rate limit are counted. */
export interface RateDecisionMetrics {
  rateDecided(admitted: boolean): void;
}

const POLICY = `"account";q=${LIMITS.requestsPerWindowMax};w=${LIMITS.rateWindowMs / 1000}`;

/**
 * H13, H14: charges the account, and adds the fields of the rate limit to the response of this exchange.
 * @throws HttpRefusal `rate_limited`, with the seconds until a request is free; StoreUnavailable, Busy
 */
export function chargeAccount(
  exchange: Exchange,
  accountId: string,
  window: RateWindow,
  metrics: RateDecisionMetrics,
): MaybePromise<undefined> {
  return andThen(window.charge(accountId), (decision) => applyDecision(exchange, decision, metrics));
}

function applyDecision(exchange: Exchange, decision: RateDecision, metrics: RateDecisionMetrics): undefined {
  metrics.rateDecided(decision.admitted);
  const seconds = String(decision.freesInSeconds);
  exchange.headers = ['RateLimit-Policy', POLICY, 'RateLimit', `"account";r=${decision.left};t=${seconds}`];
  if (!decision.admitted) throw new HttpRefusal('rate_limited', ['Retry-After', seconds]);
}
