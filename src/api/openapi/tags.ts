import type { Operation } from '../contract/operation.ts';

/* The groups in which a reference page shows the operations. */

interface Tag {
  readonly name: string;
  readonly description: string;
}

const APPS: Tag = { name: 'Apps', description: 'One app a daemon: create, enroll, revoke, delete.' };
const CONFIGURATION: Tag = {
  name: 'Configuration',
  description: 'The OpenTelemetry export configuration of the fleet.',
};
const AUDIT: Tag = { name: 'Audit', description: 'Who changed what, and whether the record of it is whole.' };
const KEYS: Tag = { name: 'Keys and backups', description: 'Key-encryption keys, and snapshots of the store.' };
const SIGN_IN: Tag = { name: 'Sign-in', description: 'The ways into the panel, and the signed-in user himself.' };
const PEOPLE: Tag = { name: 'People', description: 'Users, members of accounts, and links of a single use.' };
const OVERVIEW: Tag = { name: 'Overview', description: 'An account, or the service, at a glance; live changes.' };
const ROLLOUT: Tag = { name: 'Rollout', description: 'How far a configuration has come among the daemons.' };
const USAGE: Tag = { name: 'Usage and limits', description: 'Metered nights, and accounts near their rate limit.' };

/** The tags by the last part of a path that has one. */
const BY_PART: Readonly<Record<string, Tag>> = {
  apps: APPS,
  'otel-config': CONFIGURATION,
  config: CONFIGURATION,
  enroll: { name: 'Enrollment', description: 'A daemon exchanges its code for a credential.' },
  detections: { name: 'Detections', description: 'What daemons find, for the review queue.' },
  accounts: { name: 'Accounts', description: 'The owners of apps.' },
  'api-keys': { name: 'API keys', description: 'The keys by which owners and their automation authenticate.' },
  audit: AUDIT,
  rollout: ROLLOUT,
  rollouts: ROLLOUT,
  'review-queue': { name: 'Review queue', description: 'Detections that wait for a decision.' },
  keys: KEYS,
  backup: KEYS,
  usage: USAGE,
  'rate-limits': USAGE,
  'rate-limit': USAGE,
  'sign-in': SIGN_IN,
  'sign-out': SIGN_IN,
  me: SIGN_IN,
  users: PEOPLE,
  members: PEOPLE,
  invitations: PEOPLE,
  links: PEOPLE,
  consents: { name: 'Accounts', description: 'The owners of apps.' },
  kubernetes: { name: 'Kubernetes', description: 'What custom resources stand for, and a cluster that was restored.' },
  overview: OVERVIEW,
  'fleet-history': OVERVIEW,
  service: OVERVIEW,
  events: OVERVIEW,
  find: OVERVIEW,
  addresses: OVERVIEW,
};

/** @throws Error for a path without a group: give it one */
function groupOf({ path }: Operation): Tag {
  const tag = BY_PART[path.split('/').findLast((part) => Object.hasOwn(BY_PART, part)) ?? ''];
  if (!tag) throw new Error(`${path} belongs to no group of operations.`);
  return tag;
}

/** The name of an operation's group. */
export const tagOf = (operation: Operation): string => groupOf(operation).name;

/** The groups of these operations, in their order. */
export const tagsOf = (operations: readonly Operation[]): Tag[] => [...new Set(operations.map(groupOf))];
