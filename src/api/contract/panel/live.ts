import * as z from 'zod';
import { LIMITS } from '../../../domain/limits.ts';
import { ACCOUNT_ID, described, listInQuery } from '../fields.ts';
import { operation } from '../operation.ts';

/* Live events: hints that something changed, after which a page reads again. */

/** What a hint is about. */
const TOPICS = [
  'account',
  'apps',
  'seen',
  'keys',
  'config',
  'members',
  'me',
  'users',
  'rollout',
  'reviews',
  'usage',
  'limits',
] as const;
export type Topic = (typeof TOPICS)[number];

/** What memory does not hold: it is read every few seconds while somebody watches it. */
const WATCHED = ['rollout', 'reviews', 'usage', 'limits'] as const satisfies readonly Topic[];
export type Watched = (typeof WATCHED)[number];

const eventQuery = z.object({
  account: described(
    listInQuery(
      ACCOUNT_ID.source.slice(1, -1),
      LIMITS.accountsPerStreamMax,
      `must be at most ${LIMITS.accountsPerStreamMax} ids of accounts, separated by commas`,
    ),
    `The accounts to follow, at most ${LIMITS.accountsPerStreamMax}, with commas between.`,
    'a1b2c3d4e5f6g7h8',
  ).optional(),
  watch: described(
    listInQuery(`(?:${WATCHED.join('|')})`, WATCHED.length, `must be one or more of ${WATCHED.join(', ')}`).pipe(
      z.array(z.enum(WATCHED)),
    ),
    'What else to watch of them, with commas between.',
    'rollout,limits',
  ).optional(),
});

export const readEvents = operation({
  id: 'readEvents',
  method: 'get',
  path: '/panel/v1/events',
  access: 'signed-in',
  summary: 'Follow changes',
  description:
    'A stream of server-sent events. `hint` says what changed, as `{account, topic}`: read it again. `reset` says that ' +
    'anything may have changed, such as after a `Last-Event-ID` that is too old. `ended` says that the session has ended ' +
    'or that an account may not be followed any more, and is the last event.',
  query: eventQuery,
  errors: ['not_found', 'overloaded'],
  answers: [
    {
      status: 200,
      description: 'The stream.',
      otherTypes: {
        'text/event-stream': 'id: 1723\nevent: hint\ndata: {"account":"a1b2c3d4e5f6g7h8","topic":"apps"}\n\n',
      },
    },
  ],
});
