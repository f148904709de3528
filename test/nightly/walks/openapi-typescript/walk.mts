// The walk of generated-clients.test.ts with openapi-fetch and the types that openapi-typescript makes.
import { readFileSync } from 'node:fs';
import createClient from 'openapi-fetch';
import type { paths as Device } from './muster/device.js';
import type { paths as Operator } from './muster/operator.js';
import type { paths as V1 } from './muster/v1.js';

/** Ends the walk where the step went otherwise than it says. */
function expect(holds: boolean, step: string): void {
  if (!holds) throw new Error(`not so: ${step}`);
  process.stdout.write(`${step}\n`);
}

const from = (variable: string): string => process.env[variable] ?? '';
const secret = (variable: string): string => readFileSync(from(variable), 'utf8').trim();
const by = (baseUrl: string, token: string) => ({ baseUrl, headers: { authorization: `Bearer ${token}` } });

/** The body of a success. */
function got<T>(answer: { data?: T; response: Response }): T {
  if (answer.data === undefined) throw new Error(`${answer.response.url}: ${answer.response.status}`);
  return answer.data;
}

/** The status and the code of an answer that is no success. */
const told = ({ error, response }: { error?: { error: { code: string } }; response: Response }): string =>
  `${response.status} ${error?.error.code}`;

const now = Date.now();
const team = createClient<Operator>(by(from('MUSTER_CLIENT_OPS_URL'), secret('MUSTER_CLIENT_OPERATOR_TOKEN_FILE')));
const creation = { name: 'new', entitlement: 'enterprise' } as const;
const { accountId } = got(await team.POST('/operator/v1/accounts', { body: creation }));
const ofAccount = { params: { path: { accountId } } };
const renamed = got(await team.PATCH('/operator/v1/accounts/{accountId}', { ...ofAccount, body: { name: 'walk' } }));
expect(renamed.name === 'walk' && renamed.entitlement === 'enterprise', 'operator: created an account, and renamed it');
const expiresAt = new Date(now + 3_600_000).toISOString();
const expiring = { ...ofAccount, body: { name: 'walk', expiresAt } };
const key = got(await team.POST('/operator/v1/accounts/{accountId}/api-keys', expiring));
const { apiKeys } = got(await team.GET('/operator/v1/accounts/{accountId}/api-keys', ofAccount));
expect(
  apiKeys.length === 1 && apiKeys[0]?.keyId === key.keyId && apiKeys[0].expiresAt === expiresAt,
  'operator: created an API key that expires in an hour',
);

const ownerBy = (token: string) => createClient<V1>(by(from('MUSTER_CLIENT_URL'), token));
expect(told(await ownerBy('no key').GET('/v1/apps')) === '401 invalid_key', 'stranger: 401 invalid_key');

const owner = ownerBy(key.apiKey);
const create = { params: { header: { 'Idempotency-Key': 'walk-1' } }, body: { name: 'edge 1' } };
const app = got(await owner.POST('/v1/apps', create));
const again = await owner.POST('/v1/apps', create);
expect(
  got(again).enrollCode === app.enrollCode && again.response.headers.get('Idempotency-Replayed') === 'true',
  'owner: created an app, and got the same code by the same Idempotency-Key',
);
const second = got(await owner.POST('/v1/apps'));
expect(second.name === '' && second.enrollCode !== app.enrollCode, 'owner: created a second app');
const pageAfter = async (after?: string) => {
  const query = { limit: 1, ...(after !== undefined && { after }) };
  const params = { path: { accountId }, query };
  return got(await team.GET('/operator/v1/accounts/{accountId}/apps', { params }));
};
const page = await pageAfter();
const last = await pageAfter(page.next);
const inPages = [...page.apps, ...last.apps].map(({ appId }) => appId);
expect(
  last.next === undefined && inPages.sort().join() === [app.appId, second.appId].sort().join(),
  'operator: has both apps, in two pages',
);
const pending = got(await owner.GET('/v1/apps')).apps.filter(
  ({ status, lastSeenAt, createdAt }) =>
    status === 'pending' && lastSeenAt === null && Math.abs(Date.parse(createdAt) - now) < 300_000,
);
expect(pending.length === 2, 'owner: both apps are pending');

const enrolling = createClient<Device>({ baseUrl: from('MUSTER_CLIENT_DEVICE_URL') });
const { appId, enrollCode } = app;
const machine = { appId, enrollCode, connection: 'cloud', platform: 'linux', agentVersion: '1.0' } as const;
const enrolled = got(await enrolling.POST('/device/v1/enroll', { body: machine }));
expect(enrolled.appId === appId && enrolled.status === 'active', 'device: enrolled');
const used = { appId, enrollCode, credentialHash: '0'.repeat(64) };
expect(
  told(await enrolling.POST('/device/v1/enroll', { body: used })) === '401 invalid_code',
  'device: the code is used up: 401 invalid_code',
);

const wanted = { enabled: true, endpoint: 'https://otel.example.com', evidenceLevel: 'redacted' } as const;
const unfit = await owner.PUT('/v1/otel-config', { body: { ...wanted, endpoint: 'https://user@otel.example.com' } });
expect(told(unfit) === '400 invalid_endpoint', 'owner: 400 invalid_endpoint');
const tagOf = ({ response }: { response: Response }): string => response.headers.get('ETag') ?? '';
const former = tagOf(await owner.PUT('/v1/otel-config', { body: wanted }));
const present = tagOf(await owner.GET('/v1/otel-config'));
const change = {
  params: { header: { 'If-Match': present } },
  body: { ...wanted, authHeader: 'Bearer another' },
};
const stored = await owner.PUT('/v1/otel-config', change);
const tag = tagOf(stored);
expect(
  former === present && tag !== former && tag !== '' && got(stored).authHeaderSet,
  'owner: stored, read and changed the configuration by its tag',
);
expect(
  told(await owner.PUT('/v1/otel-config', change)) === '412 precondition_failed',
  'owner: by the former tag: 412 precondition_failed',
);

const daemon = createClient<Device>(by(from('MUSTER_CLIENT_DEVICE_URL'), enrolled.credential ?? ''));
const poll = await daemon.GET('/device/v1/config');
const { revision, otel } = got(poll);
expect(
  otel.endpoint === wanted.endpoint &&
    otel.evidenceLevel === 'redacted' &&
    otel.headers['Authorization'] === 'Bearer another',
  'device: polled: 200 with the configuration',
);
const known = { params: { header: { 'If-None-Match': tagOf(poll) } } };
expect((await daemon.GET('/device/v1/config', known)).response.status === 304, 'device: polled by its tag: 304');
const acknowledged = await daemon.POST('/device/v1/config/ack', { body: { revision, status: 'applied' } });
expect(acknowledged.response.status === 204, 'device: acknowledged');
const rollout = got(await team.GET('/operator/v1/accounts/{accountId}/rollout', ofAccount));
expect(
  rollout.revision === revision && rollout.devices === 1 && rollout.applied === 1,
  'operator: the rollout is complete',
);

const first = { params: { path: { appId } } };
const active = got(await owner.GET('/v1/apps/{appId}', first));
expect(active.status === 'active' && active.platform === 'linux', 'owner: the app is active');
const other = { params: { path: { appId: second.appId } } };
const issued = got(await owner.POST('/v1/apps/{appId}/enroll-code', other));
expect(issued.enrollCode !== second.enrollCode && Date.parse(issued.expiresAt) > now, 'owner: issued another code');
const purged = got(await owner.DELETE('/v1/otel-config', { params: { header: { 'If-Match': tag } } }));
expect(purged.deleted, 'owner: purged the configuration by its tag');
const revoked = got(await owner.POST('/v1/apps/{appId}/revoke', first));
expect(revoked.status === 'revoked', 'owner: revoked the app');
expect(
  told(await daemon.GET('/device/v1/config')) === '401 invalid_credential',
  'device: polled: 401 invalid_credential',
);
const deleted = await owner.DELETE('/v1/apps/{appId}', other);
expect(
  deleted.response.status === 204 && told(await owner.GET('/v1/apps/{appId}', other)) === '404 not_found',
  'owner: deleted the second app: 404 not_found',
);
const { entries } = got(await team.GET('/operator/v1/accounts/{accountId}/audit', ofAccount));
const of = (action: string) => entries.filter((entry) => entry.action === action);
expect(
  of('app.revoked')
    .map((entry) => entry.appId)
    .join() === appId &&
    of('key.created')
      .map(({ detail }) => detail['keyId'])
      .join() === key.keyId,
  'operator: the audit tells of it',
);
const busy = await ownerBy(secret('MUSTER_BUSY_KEY_FILE')).GET('/v1/apps');
const seconds = Number(busy.response.headers.get('Retry-After'));
expect(told(busy) === '429 rate_limited' && seconds >= 1 && seconds <= 60, 'busy: 429 rate_limited, with Retry-After');
