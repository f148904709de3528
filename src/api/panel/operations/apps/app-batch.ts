import type { AppOutcome } from '../../../../domain/apps/batch-items.ts';
import { dateTime } from '../../../../time/date-time.ts';
import * as operations from '../../../contract/panel/apps/app-batch.ts';
import { ERRORS } from '../../../http/errors.ts';
import { REPLAYED } from '../../../http/request-headers.ts';
import { handle } from '../../request/route.ts';

/** POST /panel/v1/accounts/{accountId}/apps/batch. */
export const changeApps = handle(operations.changeApps, { charged: 'batch' })(async (
  { caller, body, idempotency },
  { apps },
) => {
  const outcomes = await apps.changeMany(caller, body, idempotency);
  const replayed = outcomes.flatMap((outcome) => ('error' in outcome ? [] : outcome.replayed));
  const isReplay = replayed.length > 0 && !replayed.includes(false);
  return { status: 200, body: { outcomes: outcomes.map(bodyOf) }, headers: isReplay ? REPLAYED : [] };
});

function bodyOf(outcome: AppOutcome): operations.AppOutcome {
  if ('error' in outcome) return { error: { code: outcome.error, message: ERRORS[outcome.error].message } };
  const { appId, code } = outcome;
  return {
    appId,
    ...(code && { enrollCode: code.text.reveal(), enrollCodeExpiresAt: dateTime(code.expiresAt) }),
  };
}
