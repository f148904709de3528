import type { Apps } from '../apps/apps.ts';
import type { Caller } from '../apps/own-app.ts';
import { atLimitOf } from '../records/attempt-records.ts';
import { Refusal } from '../refusal.ts';
import type { FailedAttempts } from './failed-attempts.ts';

/**
 * The same operations on apps. Each app that has no place in its account is counted (A10), and the audit hears of it
 * later: no refusal waits for that. A custom resource that waits for a place says so itself.
 */
export function withLimitsCounted(apps: Apps, attempts: Pick<FailedAttempts, 'failed'>): Apps {
  function count({ accountId, origin }: Caller): void {
    const [, keyId] = /^key:(.+)$/.exec(origin.actor) ?? [];
    attempts.failed({ of: atLimitOf('limit.reached', accountId), keyId, client: origin.client ?? '' });
  }
  return {
    ...apps,
    async create(caller, name, idempotency) {
      try {
        return await apps.create(caller, name, idempotency);
      } catch (error) {
        if (error instanceof Refusal && error.code === 'limit_reached') count(caller);
        throw error;
      }
    },
    async changeMany(caller, batch, idempotency) {
      const outcomes = await apps.changeMany(caller, batch, idempotency);
      for (const outcome of outcomes) if ('error' in outcome && outcome.error === 'limit_reached') count(caller);
      return outcomes;
    },
  };
}
