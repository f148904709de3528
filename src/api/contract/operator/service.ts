import * as z from 'zod';
import {
  accountId,
  booleanInQuery,
  count,
  described,
  double,
  instantOrNull,
  keyId,
  named,
  numberInQuery,
} from '../fields.ts';
import { operation, READERS } from '../operation.ts';

const keyNumber = z.int().min(1);
const byKey = (description: string, example: Record<string, number>) =>
  described(z.record(z.string(), z.int().min(0)), `${description}, by the number of the key.`, example);

const keyStatus = z
  .object({
    writing: described(keyNumber, 'The number of the active key.', 2),
    known: described(z.array(keyNumber), 'The keys in the key file of the replica that answers.', [1, 2]),
    replicas: described(
      z.array(
        named(
          'ReplicaKeys',
          z.object({
            replicaId: described(z.string(), 'The id of a live replica.', 'f3b1c9d2a7e4'),
            keyNumbers: described(z.array(keyNumber), 'The keys that it knows.', [1, 2]),
          }),
          'The keys of a replica.',
        ),
      ),
      'The live replicas.',
      undefined,
    ),
    sealedUnder: byKey('How many headers and idempotency records each key seals', { '1': 3, '2': 40 }),
    countedAll: described(z.boolean(), 'False where there were more idempotency records than were counted.', true),
    awaitingRetirement: byKey('How many purged secrets logs and backups may still hold', { '1': 2 }),
    removable: described(z.array(keyNumber), 'The keys whose lines may be removed from every key file.', []),
  })
  .meta({ id: 'KeyStatus', description: 'The state of the key-encryption keys.' });
export type KeyStatus = z.infer<typeof keyStatus>;

export const readKeys = operation({
  id: 'readKeys',
  method: 'get',
  path: '/operator/v1/keys',
  roles: READERS,
  summary: 'Show the key-encryption keys',
  description: 'Shows what each key seals, which replicas know it, and which may be removed: numbers, never a key.',
  answers: [
    {
      status: 200,
      description: 'The state of the keys.',
      schema: keyStatus,
    },
  ],
  command: 'keys status',
});

export const rotateKeys = operation({
  id: 'rotateKeys',
  method: 'post',
  path: '/operator/v1/keys/rotation',
  summary: 'Rotate the key-encryption key',
  description:
    'Makes the newest key of the key file the active one. It is refused while a live replica does not know that key; a ' +
    'repetition changes nothing.',
  errors: ['invalid_request'],
  answers: [
    {
      status: 200,
      description: 'The newest key is the active one.',
      schema: z
        .object({
          writing: described(keyNumber, 'The number of the active key now.', 2),
          before: described(keyNumber, 'The number of the active key before.', 1),
        })
        .meta({ id: 'KeyRotation', description: 'The active key, and the one before.' }),
    },
  ],
  command: 'keys rotate',
});

/** The most accounts that are listed: so many each replica publishes. */
const TOP_MAX = 20;
export const top = numberInQuery(TOP_MAX, TOP_MAX, `The most accounts that are listed; ${TOP_MAX} without it.`);
const limitsQuery = z.object({ top });

const refusedBy = named(
  'RefusedByKey',
  z.object({
    keyId: keyId.meta({ description: 'The API key.' }),
    keyName: described(z.string(), 'The name of the key; absent where it has none, or is revoked.', 'ci').optional(),
    operation: described(z.string(), 'The method and the template of the path.', 'POST /v1/apps'),
    refused: count('Requests refused in the last 60 s.', 12),
  }),
  'Refused requests of a key.',
);

const rateLimits = z
  .object({
    limited: count('Accounts that were refused in the last 60 s.', 1),
    accounts: described(
      z.array(
        named(
          'LimitedAccount',
          z.object({
            accountId,
            name: described(z.string(), 'The name of the account.', 'acme').optional(),
            fill: described(double.min(0).max(1), 'How full the window is, 0 to 1.', 1),
            refused: count('Requests refused in the last 60 s.', 12),
            refusedBy: described(z.array(refusedBy), 'The same by key and operation, the most first.', undefined),
            limitedSince: instantOrNull('Since when it is limited; null where it is not.'),
            liftsAt: instantOrNull('When its next request is free; null where it is not limited.'),
          }),
          'An account that is limited, or near it.',
        ),
      ),
      'The most refused first, then the fullest.',
      undefined,
    ),
  })
  .meta({ id: 'RateLimits', description: 'The accounts that are limited, or near it.' });

export const readRateLimits = operation({
  id: 'readRateLimits',
  method: 'get',
  path: '/operator/v1/rate-limits',
  roles: READERS,
  summary: 'Show the limited accounts',
  description:
    'Shows the accounts that were refused with 429 in the last minute, and those that have used a quarter of their ' +
    'requests, over all replicas.',
  query: limitsQuery,
  errors: ['invalid_request'],
  answers: [
    {
      status: 200,
      description: 'The limited accounts.',
      schema: rateLimits,
    },
  ],
  command: 'limits',
});

/** It streams, and has no deadline but that of each piece. */
export const readBackup = operation({
  id: 'readBackup',
  method: 'get',
  path: '/operator/v1/backup',
  summary: 'Make a backup',
  description:
    'Streams a snapshot of the whole store at one revision, while the service goes on: a line of JSON for each entry, a ' +
    'header before and a trailer behind. A backup without its trailer is incomplete. One runs at a time.',
  query: z.object({
    count: booleanInQuery('Whether the entries are counted first, for the header.').optional(),
  }),
  errors: ['overloaded'],
  answers: [
    {
      status: 200,
      description: 'The backup.',
      otherTypes: { 'application/x-ndjson': '{"muster":"backup","format":2}\n' },
    },
  ],
  command: 'backup create muster.backup',
});
