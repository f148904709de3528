import type { MutationAction } from '../mutation/actions.ts';
import type { EventField } from './fields.ts';

/*
 * The types of events (ADR 0084). Each is an action of the audit, under the word that the field uses for it; what it
 * says and which data it has stands here, and docs/EVENTS.md is made from it.
 */

/** Its class and activity in the Open Cybersecurity Schema Framework, and whether it is a failure. */
export interface Ocsf {
  readonly class: 'entity' | 'account' | 'authentication' | 'access' | 'api' | 'detection';
  readonly activity: number;
  readonly failed?: true;
}

export interface EventType {
  /** Says as a sentence what happened. */
  readonly says: string;
  readonly fields: readonly EventField[];
  readonly ocsf: Ocsf;
}

const type = (says: string, ocsf: Ocsf, ...fields: readonly EventField[]): EventType => ({ says, fields, ocsf });

/** The activities of OCSF 1.3. */
const OTHER = 99;
const entity = (activity: number): Ocsf => ({ class: 'entity', activity });
const CREATED = entity(1);
const READ = entity(2);
const CHANGED = entity(3);
const DELETED = entity(4);
const DONE = entity(OTHER);
const account = (activity: number): Ocsf => ({ class: 'account', activity });
const LOGON: Ocsf = { class: 'authentication', activity: 1 };
const LOGOFF: Ocsf = { class: 'authentication', activity: 2 };
const REFUSED_LOGON: Ocsf = { ...LOGON, failed: true };
const GIVEN: Ocsf = { class: 'access', activity: 1 };
const TAKEN: Ocsf = { class: 'access', activity: 2 };
const REFUSED_CALL: Ocsf = { class: 'api', activity: OTHER, failed: true };
const DETECTED: Ocsf = { class: 'detection', activity: 1 };
const OFFER = ['adoptableBy', 'namespaceUid'] as const;
const SCOPE = ['access', 'allowedCidrs'] as const;
const ROLE = ['userId', 'disabled', 'renamed', 'from', 'role'] as const;
const MAPPED = ['operator', 'role', 'accounts'] as const;

const BY_ACTION = {
  'account.created': type('An account was created.', CREATED, 'entitlement', 'countsAt'),
  'account.changed': type(
    'The name, the entitlement, the quota or the custom resource of an account was changed, or it was disabled or enabled.',
    CHANGED,
    'entitlement',
    'disabled',
    'renamed',
    'quotaMb',
    ...OFFER,
    'countsAt',
  ),
  'account.adopted': type('A custom resource adopted an account.', CHANGED, 'by', 'again'),
  'account.released': type('A custom resource released an account.', CHANGED, 'disabled'),
  'resource.forgotten': type(
    'A custom resource is gone, and what it held was released.',
    DELETED,
    'kind',
    'resource',
    'keyId',
    'previousKeyId',
  ),
  'resource.recovered': type(
    'A custom resource took up what one of its name had before.',
    CHANGED,
    'kind',
    'resource',
    'formerUid',
    'uid',
  ),
  'resource.recovery-allowed': type(
    'The resources of a namespace may take up what they had before.',
    CHANGED,
    'namespace',
    'namespaceUid',
  ),
  'key.created': type('An API key was created.', CREATED, 'keyId', ...SCOPE),
  'key.rotated': type('An API key got a new secret.', CHANGED, 'keyId', 'graceSeconds'),
  'key.changed': type(
    'An API key may do less, expires at another time, or lost the secret of before its rotation.',
    CHANGED,
    'keyId',
    'expiresAt',
    'formerSecret',
    'maker',
    ...SCOPE,
  ),
  'key.revoked': type('An API key was revoked.', DELETED, 'keyId', 'maker'),
  'app.created': type('An app was created.', CREATED, 'countsAt'),
  'app.enrolled': type(
    'A daemon enrolled.',
    CHANGED,
    'from',
    'platform',
    'agentVersion',
    'connection',
    'swapped',
    'proved',
    'tookFrom',
    'countsAt',
  ),
  'enrollment.refused': type('A daemon was refused at its enrollment.', REFUSED_LOGON, 'reason'),
  'app.reported': type('A daemon reports another platform or version.', CHANGED, 'platform', 'agentVersion'),
  'app.changed': type('An app was renamed, or given to a custom resource.', CHANGED, ...OFFER),
  'app.adopted': type('A custom resource adopted an app.', CHANGED, 'by', 'again'),
  'app.released': type('A custom resource released an app.', CHANGED, 'by'),
  'app.revoked': type('An app was revoked.', CHANGED, 'from', 'codesVoided', 'countsAt'),
  'app.deleted': type('An app was deleted.', DELETED, 'from', 'countsAt'),
  'credential.yielded': type('An app lost its credential to another one.', CHANGED, 'to'),
  'credential.shared': type('Two machines use the credential of an app.', DONE),
  'code.issued': type('An enrollment code was issued.', CREATED),
  'code.voided': type('An enrollment code was voided.', DELETED),
  'otel.stored': type(
    'The configuration was stored.',
    CHANGED,
    'revision',
    'enabled',
    'evidenceLevel',
    'endpointChanged',
    'authHeader',
    'restores',
  ),
  'otel.purged': type('The configuration was purged.', DELETED, 'revision', 'authHeader'),
  'otel.tested': type('The collector was tested.', DONE, 'revision', 'outcome', 'status', 'why'),
  'review.decided': type(
    'A decision was made on an entry of the review queue.',
    CHANGED,
    'entryId',
    'from',
    'status',
    'noted',
  ),
  'backup.begun': type('A backup was begun.', READ, 'revision', 'keyNumber'),
  'usage.exported': type('The usage of all accounts was exported.', READ, 'month'),
  'audit.exported': type('An audit was exported.', READ, 'accountId'),
  'key.refused': type('API keys or access tokens were refused.', REFUSED_LOGON, 'count', 'keyIds', 'clients'),
  'token.refused': type('Operator tokens were refused.', REFUSED_LOGON, 'count', 'clients'),
  'sign-in.refused': type('Sign-ins were refused.', REFUSED_LOGON, 'userId', 'count', 'clients', 'ways'),
  'role.refused': type(
    'Callers were refused what their role does not include.',
    REFUSED_CALL,
    'userId',
    'caller',
    'count',
    'roles',
    'clients',
  ),
  'limit.reached': type('Apps found no place in the account.', REFUSED_CALL, 'count', 'keyIds', 'clients'),
  'rate.limited': type('Requests beyond the rate were refused.', REFUSED_CALL, 'count', 'keyIds', 'clients'),
  'app.silent': type('A daemon has made no contact for three polls.', DONE, 'lastSeenAt', 'count'),
  'app.back': type('A silent daemon made a contact again.', DONE, 'silentSince', 'silentSeconds', 'count'),
  'code.expiring': type('An enrollment code ends soon.', DONE, 'expiresAt', 'count'),
  'key.expiring': type('An API key expires soon.', DONE, 'keyId', 'expiresAt', 'count'),
  'key.expired': type('An API key has expired.', DONE, 'keyId', 'expiresAt', 'count'),
  'rollout.completed': type('All daemons have applied the configuration.', DONE, 'revision', 'devices'),
  'rollout.failed': type('A daemon could not apply the configuration.', DONE, 'revision', 'failed', 'devices'),
  'rollout.stuck': type('Daemons have not applied the configuration for long.', DONE, 'revision', 'pending', 'devices'),
  'quota.near': type('The account is near its quota.', DONE, 'storedBytes', 'quotaBytes'),
  'night.metered': type('A night was metered.', DONE, 'night', 'active'),
  'detection.critical': type('A daemon reported critical detections.', DETECTED, 'count', 'rule'),
  'user.created': type('A user was created.', account(1), 'userId', ...MAPPED, 'provider', 'linkId'),
  'user.changed': type(
    'A user was renamed, disabled or enabled, or the identity provider gave other roles.',
    account(OTHER),
    'userId',
    'disabled',
    'renamed',
    'mapped',
    'keptKeys',
    ...MAPPED,
  ),
  'user.reset': type('A user got another way to sign in by a link.', account(4), 'userId', 'accessTokens', 'linkId'),
  'user.deleted': type('A user was deleted.', account(6), 'userId', 'unused', 'keptKeys'),
  'password.changed': type(
    'A user changed the password.',
    account(3),
    'userId',
    'client',
    'passkeysRemoved',
    'identitiesUnlinked',
  ),
  'passkey.added': type('A user added a passkey.', account(10), 'userId', 'client'),
  'passkey.removed': type('A user removed a passkey.', account(11), 'userId', 'client'),
  'identity.linked': type(
    'A user linked an identity at the provider.',
    account(OTHER),
    'userId',
    'client',
    'mapped',
    'keptKeys',
    ...MAPPED,
  ),
  'identity.unlinked': type('A user unlinked the identities at the provider.', account(OTHER), 'userId', 'client'),
  'operator.added': type('A user became an operator.', GIVEN, ...ROLE),
  'operator.removed': type('A user is no operator any more.', TAKEN, ...ROLE, 'keptKeys'),
  'role.given': type('A user got a role on the installation.', GIVEN, ...ROLE, 'keptKeys'),
  'role.taken': type('A user lost a role on the installation.', TAKEN, ...ROLE, 'keptKeys'),
  'member.added': type('A user became a member.', GIVEN, 'userId', 'role', 'newUser', 'linkId'),
  'member.changed': type('A member got another role.', GIVEN, 'userId', 'from', 'role', 'keptKeys'),
  'member.removed': type('A membership ended.', TAKEN, 'userId', 'from', 'role', 'keptKeys'),
  'session.created': type('A user signed in.', LOGON, 'userId', 'method', 'client'),
  'session.ended': type('A session was ended.', LOGOFF, 'userId'),
  'access-token.created': type('An access token was created.', CREATED, 'tokenId', 'role', 'expiresAt'),
  'access-token.revoked': type('An access token was revoked.', DELETED, 'tokenId', 'maker'),
  'link.created': type('An invitation or a link was made.', CREATED, 'linkId', 'kind', 'userId', 'role'),
  'link.used': type('A link was used.', CHANGED, 'userId', 'kind', 'linkId'),
  'link.withdrawn': type('An invitation or a link was withdrawn.', DELETED, 'linkId'),
} as const satisfies Readonly<Record<MutationAction, EventType>>;

/** The catalogue, by the action of the entry. An action of a later version is in none. */
export const EVENT_TYPES: Readonly<Record<MutationAction, EventType>> = BY_ACTION;

/** Actions whose field has another word outside; every other one is its type, with underscores for hyphens. */
const RENAMED: ReadonlyMap<string, string> = new Map([
  ['otel.stored', 'config.changed'],
  ['otel.purged', 'config.purged'],
  ['otel.tested', 'config.tested'],
] satisfies [MutationAction, string][]);

/** The type of an event, such as `app.enrolled` or `config.changed`. */
export const typeOf = (action: string): string => RENAMED.get(action) ?? action.replaceAll('-', '_');
