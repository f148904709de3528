import { readFleetSeries } from '../../../domain/fleet-history/series.ts';
import { dateTime } from '../../../time/date-time.ts';
import * as operations from '../../contract/panel/fleet-history.ts';
import { handle } from '../request/route.ts';
import { accountOf } from './account.ts';

/** GET /panel/v1/accounts/{accountId}/fleet-history. */
export const readFleetHistory = handle(operations.readFleetHistory)(async (request, { store, clock }) => {
  const { id: accountId } = await accountOf(request);
  const { range } = request.query;
  const { from, to, stepMs, points } = await readFleetSeries(store, accountId, range, clock.now());
  const body: operations.FleetHistory = {
    accountId,
    range,
    from: dateTime(from),
    to: dateTime(to),
    stepSeconds: stepMs / 1000,
    points: points.map(({ at, ...counts }) => ({ at: dateTime(at), ...counts })),
  };
  return { status: 200, body };
});
