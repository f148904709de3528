import { formatCount } from './format.ts';
import { isolated } from '../../src/text/shown-name.ts';

/* Texts of the pages of apps. */

export const apps = {
  title: 'Apps',
  lead: 'One app stands for one daemon: create it, enroll the daemon with its code, revoke or delete it.',
  create: 'Add many',
  /** Heard after it: what is added. */
  createHeard: ' daemons',
  search: 'Search',
  searchHint: 'Name or id',
  status: 'Status',
  anyStatus: 'Any status',
  platform: 'Platform',
  version: 'Version',
  any: 'Any',
  unknown: 'not reported',
  silent: 'Silent',
  silentOptions: { any: 'Any', hour: 'for an hour', day: 'for a day', week: 'for a week', never: 'never seen' },
  statuses: { pending: 'pending', active: 'active', revoked: 'revoked' },
  columns: {
    name: 'Name',
    status: 'Status',
    configuration: 'Configuration',
    platform: 'Platform',
    version: 'Version',
    connection: 'Connection',
    lastSeen: 'Last contact',
    created: 'Created',
  },
  connections: { cloud: 'cloud', private: 'private' },
  deliveries: { failed: 'failed', unhealthy: 'unhealthy', silent: 'silent', pending: 'pending', applied: 'applied' },
  said: 'What the daemon said',
  chooseOne: (name: string) => `Choose ${isolated(name)}`,
  chooseAll: 'Choose all that are shown',
  chosen: (count: number) => (count === 1 ? '1 app chosen' : `${formatCount(count)} apps chosen`),
  hidden: (count: number) => (count === 1 ? '1 of them is not shown' : `${formatCount(count)} of them are not shown`),
  clear: 'Choose none',
  issueCodes: 'Issue codes',
  revoke: 'Revoke',
  remove: 'Delete',
  empty: 'There are no apps yet',
  emptyLead: 'Create one for each daemon. It enrolls with the code that you get, which is shown once.',
  clearFilters: 'Clear the filters',
  csv: 'Download CSV',
  csvShown: (count: number) =>
    count === 1 ? 'The app that is shown' : `The ${formatCount(count)} apps that are shown`,
  csvChosen: (count: number) => (count === 1 ? 'The chosen app' : `The ${formatCount(count)} chosen apps`),
  nothingFits: 'No app fits the search and the filters.',
  caption: 'Apps of the account',
  rows: 'apps',
  revokeMany: (count: number) => (count === 1 ? 'Revoke 1 app?' : `Revoke ${formatCount(count)} apps?`),
  revokeSays: 'Their daemons are refused at once, and their open codes are void. A new code brings an app back.',
  deleteMany: (count: number) => (count === 1 ? 'Delete 1 app?' : `Delete ${formatCount(count)} apps?`),
  deleteSays: 'They are gone with their review entries; their daemons are refused at once. The audit stays.',
  managedMany: (count: number) =>
    `${count === 1 ? 'A FleetApp manages one' : `FleetApps manage ${formatCount(count)}`} of them: change that in Kubernetes, or its resource says ChangedOutside.`,
  progress: (through: number, all: number) => `${formatCount(through)} of ${formatCount(all)} processed`,
  failedSome: (count: number) =>
    count === 1
      ? '1 app is not changed. It is still chosen: try again.'
      : `${formatCount(count)} apps are not changed. They are still chosen: try again.`,
  failures: 'What failed',
  gone: 'It was deleted meanwhile.',
  moreFailures: (count: number) => `and ${formatCount(count)} more`,
  revokedMany: (count: number) => (count === 1 ? '1 app is revoked.' : `${formatCount(count)} apps are revoked.`),
  deletedMany: (count: number) => (count === 1 ? '1 app is deleted.' : `${formatCount(count)} apps are deleted.`),
  codes: {
    title: (count: number) => (count === 1 ? 'Issue a code for 1 app?' : `Issue codes for ${formatCount(count)} apps?`),
    says: 'Each code enrolls one daemon, which takes the place of the one before. Other open codes stay valid.',
    managed: (count: number) =>
      count === 1
        ? '1 app is left out: a FleetApp manages it, and its Secret holds the code.'
        : `${formatCount(count)} apps are left out: FleetApps manage them, and their Secrets hold the codes.`,
    revoked: (count: number) =>
      count === 1
        ? '1 app is revoked. Its code brings it back.'
        : `${formatCount(count)} apps are revoked. Their codes bring them back.`,
    issued: (count: number) => (count === 1 ? '1 code is issued' : `${formatCount(count)} codes are issued`),
    refused: (count: number) =>
      count === 1 ? '1 app has no new code:' : `${formatCount(count)} apps have no new code:`,
    rest: (count: number) =>
      count === 1
        ? '1 app got no code. Trying again here issues no second one.'
        : `${formatCount(count)} apps got no code. Trying again here issues none twice.`,
  },
  dialog: {
    title: 'Add many daemons',
    count: 'How many',
    countHint: 'A whole number from 1 on.',
    room: (room: number) =>
      `${room === 1 ? '1 more fits' : `${formatCount(room)} more fit`}: an account has at most ${formatCount(1000)} apps.`,
    tooMany: (room: number) =>
      room === 0
        ? 'None fits: delete an app that is not needed first.'
        : `More than fit: ask for at most ${formatCount(room)}.`,
    name: 'Name',
    nameHint:
      'An app is created for each. With {n} in it, each app gets its number. Names are for people and need not be unique.',
    preview: (first: string, last: string) => `From “${first}” to “${last}”.`,
    create: 'Create',
    created: (count: number, all: number) =>
      count < all
        ? `${formatCount(count)} of ${formatCount(all)} apps are created`
        : count === 1
          ? 'The app is created'
          : `${formatCount(count)} apps are created`,
    kept: 'Done',
    retry: 'Create the rest',
    rest: (count: number) =>
      count === 1
        ? '1 app got no code. Trying again here makes no app twice.'
        : `${formatCount(count)} apps got no code. Trying again here makes no app twice.`,
    refused: (count: number) => (count === 1 ? '1 app is not created.' : `${formatCount(count)} apps are not created.`),
    csv: 'Download all as CSV',
    shownSome: (shown: number, all: number) =>
      `The first ${formatCount(shown)} of ${formatCount(all)} are shown. The file has all of them.`,
    validUntil: (at: string) => `A code enrolls one daemon, and is valid until ${at}.`,
  },
};

export const app = {
  back: 'All apps',
  goneTitle: 'No such app',
  gone: 'This app was deleted, or never was in this account.',
  goneAudit: 'What the audit says about it',
  facts: {
    id: 'Id',
    status: 'Status',
    since: 'Since',
    platform: 'Platform',
    version: 'Agent version',
    connection: 'Connection',
    cloud: 'cloud: takes the configuration from here',
    private: 'private: is configured on its machine',
    created: 'Created',
    enrolled: 'Last enrolled',
    lastSeen: 'Last contact',
    managedBy: 'Managed by the FleetApp',
    configuration: 'Configuration',
    reviews: 'Review queue',
  },
  acknowledged: {
    applied: 'applied',
    failed: 'failed',
    nothing: 'The daemon has not acknowledged one yet.',
    revision: (revision: number, current: boolean) => `revision ${revision}${current ? '' : ', an earlier one'}`,
  },
  reported: {
    applied: (revision: number) => `The daemon has applied the configuration, revision ${revision}.`,
    failed: (revision: number) => `The daemon could not apply the configuration, revision ${revision}.`,
  },
  shared: 'Several machines take turns on the credential of this app; last found',
  sharedSays:
    'Perhaps a machine was cloned with it, or somebody has copied it. Revoke the app, and enroll each machine as an app of its own.',
  reviewsOf: (entries: number, dropped: number) =>
    `${formatCount(entries)} ${entries === 1 ? 'entry' : 'entries'}${dropped > 0 ? `; ${formatCount(dropped)} made room for newer ones` : ''}`,
  codes: 'Open enrollment codes',
  noCodes: 'No code is open.',
  issued: 'Issued',
  expires: 'Valid until',
  newCode: 'New code',
  newCodeTitle: 'The new enrollment code',
  newCodeSays: 'A daemon that enrolls with it takes the place of the one before. Other open codes stay valid.',
  revokeSays: 'Its daemon is refused at once, and its open codes are void. A new code brings the app back.',
  deleteSays: 'The app is gone with its review entries; its daemon is refused at once. The audit stays.',
  managed: (by: string) => `The FleetApp ${by} manages this app: change it there, or the resource says ChangedOutside.`,
  revokeTitle: 'Revoke this app?',
  deleteTitle: 'Delete this app?',
  revoked: 'The app is revoked.',
  deleted: 'The app is deleted.',
  timeline: 'What happened',
  noTimeline: 'The audit has no entry of this app.',
};
