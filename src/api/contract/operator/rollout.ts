import * as z from 'zod';
import { ROLLOUT_RANKINGS } from '../../../domain/rollouts/account-rollouts.ts';
import { accountId, count, described, instant, instantOrNull, named } from '../fields.ts';
import { operation, READERS } from '../operation.ts';
import { top } from './service.ts';

const device = z.object({
  appId: described(z.string(), 'The app of the daemon.', 'k3v9x0q2m7t5b8n1c4d6'),
  name: described(z.string(), 'The name of the app; absent where it has none.', 'edge-7').optional(),
  error: described(z.string().max(512), 'What the daemon said.', 'the collector does not answer'),
  at: instant('When it said so.'),
});

/** The number of daemons in each state. */
const rolloutCounts = {
  revision: count('The revision of the configuration, or of its purge; 0 where none was stored.', 7),
  devices: count('The daemons that receive the configuration.', 100),
  applied: count('Those that applied the revision.', 96),
  failed: count('Those that could not apply it.', 1),
  pending: count('Those that have not acknowledged it yet.', 2),
  stale: count('Those that have been silent for three poll intervals, and for two minutes at least.', 1),
};

export const rollout = z
  .object({
    ...rolloutCounts,
    failures: described(
      z.array(
        named(
          'RolloutFailure',
          device.extend({
            emptied: described(
              z.boolean(),
              'Whether the agent (OpAMP) is offered the empty configuration in place of the one that it could not load.',
              false,
            ),
          }),
          'A daemon that could not apply the configuration.',
        ),
      ),
      'The newest 20 failures.',
      undefined,
    ),
    failuresByError: described(
      z.array(
        named(
          'RolloutError',
          z.object({
            error: described(z.string(), 'What daemons said.', 'the collector does not answer'),
            devices: count('Daemons that said so.', 1),
          }),
          'What daemons said of a failure.',
        ),
      ),
      'The failures by what was said, the most frequent first, at most 20.',
      undefined,
    ),
    acknowledged: described(
      z.array(
        named(
          'AcknowledgedRevision',
          z.object({
            revision: count('The revision.', 7),
            applied: count('Daemons that said last that they applied it.', 96),
            failed: count('Daemons that said last that they could not.', 1),
          }),
          'A revision with the daemons that acknowledged it last.',
        ),
      ),
      'Who runs what: the daemons by the revision that they acknowledged last, the newest first, at most 20.',
      undefined,
    ),
    health: named(
      'FleetHealth',
      z.object({
        healthy: count('Agents that say they are healthy.', 97),
        unhealthy: count('Agents that say they are not.', 1),
      }),
      'The agents of OpAMP by their health, as far as they report it.',
    ),
    unhealthy: described(
      z.array(named('UnhealthyAgent', device, 'An agent that is unhealthy.')),
      'The 20 agents that turned unhealthy last.',
      undefined,
    ),
  })
  .meta({ id: 'Rollout', description: 'The rollout of a configuration.' });

export const readRollout = operation({
  id: 'readRollout',
  method: 'get',
  path: '/operator/v1/accounts/:accountId/rollout',
  roles: READERS,
  summary: 'Show the rollout of the configuration',
  description:
    'Shows how far the current configuration of the account has come among its active cloud daemons. Every daemon is in ' +
    'one of the four states.',
  answers: [
    {
      status: 200,
      description: 'The state of the rollout.',
      schema: rollout,
    },
  ],
  command: 'rollout status --account {accountId}',
});

const rolloutsQuery = z.object({
  by: named(
    'RolloutRanking',
    z
      .enum(ROLLOUT_RANKINGS, 'must be failing, failed, pending or stale')
      .default('failed')
      // Clients for Go name constants by their values alone, and the status of an app is `pending`, too.
      .meta({ 'x-enum-varnames': ROLLOUT_RANKINGS.map((ranking) => `RANKED_BY_${ranking.toUpperCase()}`) }),
    'By which daemons the accounts are ranked, the most first; `failing` has the accounts of which at least three ' +
      'daemons, and half or more of those that poll, could not apply the configuration, by their number.',
    'failed',
  ),
  top,
});

const rollouts = z
  .object({
    countedAt: instantOrNull('When all accounts had been counted; null while no leader has counted them.'),
    failing: count('Accounts of which three daemons or more, and half of those that poll, could not apply it.', 1),
    accounts: described(
      z.array(
        named(
          'AccountRollout',
          z.object({
            accountId,
            name: described(z.string(), 'The name of the account.', 'acme').optional(),
            ...rolloutCounts,
          }),
          'An account with its daemons by their state towards its current configuration.',
        ),
      ),
      'The accounts that have such daemons, the most first.',
      undefined,
    ),
  })
  .meta({ id: 'Rollouts', description: 'The accounts whose rollouts stand out.' });

export const listRollouts = operation({
  id: 'listRollouts',
  method: 'get',
  path: '/operator/v1/rollouts',
  roles: READERS,
  summary: 'List the rollouts that stand out',
  description:
    'Lists the accounts that have the most daemons that could not apply their configuration, have not acknowledged it, ' +
    'or are silent, as the leader counts them about once a minute.',
  query: rolloutsQuery,
  errors: ['invalid_request'],
  answers: [
    {
      status: 200,
      description: 'The accounts.',
      schema: rollouts,
    },
  ],
  command: 'rollout list',
});
