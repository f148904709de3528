import * as z from 'zod';
import { FLEET_RANGES } from '../../../domain/fleet-history/series.ts';
import { LIMITS } from '../../../domain/limits.ts';
import { accountId, count, described, instant, named } from '../fields.ts';
import { operation, READERS } from '../operation.ts';

/* The fleet of an account in the hours before. */

const range = named('FleetRange', z.enum(FLEET_RANGES), 'How far back: 24 hours, 7 or 90 days.', '7d');

const point = z
  .object({
    at: instant('The beginning of the hour, or of the hours.'),
    active: count('Apps whose daemon was enrolled: of several hours the fewest.', 95),
    silent: count('Active apps without a contact for longer than three polls: of several hours the most.', 1),
    failed: count('Daemons that could not apply the configuration: of several hours the most.', 0),
  })
  .meta({ id: 'FleetPoint', description: 'The daemons of an account, as they were counted first in an hour.' });

const fleetHistory = z
  .object({
    accountId,
    range,
    from: instant('The beginning of the first step.'),
    to: instant('The end of the last one, which still lasts.'),
    stepSeconds: count('How long a step is: an hour, or six of them.', 3600),
    points: described(
      z.array(point).max(LIMITS.fleetHistoryPointsMax),
      'At most one for each step, in order. A step in which nothing was counted has none: it is not zero.',
      undefined,
    ),
  })
  .meta({ id: 'FleetHistory', description: 'The fleet of an account over time.' });
export type FleetHistory = z.infer<typeof fleetHistory>;

export const readFleetHistory = operation({
  id: 'readFleetHistory',
  method: 'get',
  path: '/panel/v1/accounts/:accountId/fleet-history',
  access: 'viewer',
  roles: READERS,
  summary: 'Show the fleet over time',
  description:
    'Shows how many daemons were active, silent and failed: by the hour in the last 24 hours or 7 days, and by six hours, ' +
    'of which it has the worst, in the last 90 days in UTC.',
  query: z.object({ range: range.default('24h') }),
  answers: [{ status: 200, description: 'The points.', schema: fleetHistory }],
});
