// The walk of generated-clients.test.ts with the clients that openapi-generator makes for fetch.
import { readFileSync } from 'node:fs';
import * as device from './muster/device/index';
import * as operator from './muster/operator/index';
import * as v1 from './muster/v1/index';

/** Ends the walk where the step went otherwise than it says. */
function expect(holds: boolean, step: string): void {
  if (!holds) throw new Error(`not so: ${step}`);
  process.stdout.write(`${step}\n`);
}

const from = (variable: string): string => process.env[variable] ?? '';
const secret = (variable: string): string => readFileSync(from(variable), 'utf8').trim();

/** The status, the code and the headers of an answer that is no success. */
async function refusal(call: Promise<unknown>): Promise<{ told: string; headers: Headers }> {
  const error: unknown = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  // Each document has a class of its own by this name.
  const response = (error as { response?: Response } | undefined)?.response;
  if (response === undefined) throw error ?? new Error('a success');
  const code = response.status === 304 ? '' : v1.ModelErrorFromJSON(await response.json()).error.code;
  return { told: `${response.status} ${code}`.trim(), headers: response.headers };
}

async function main(): Promise<void> {
  const now = Date.now();
  const token = secret('MUSTER_CLIENT_OPERATOR_TOKEN_FILE');
  const team = new operator.Configuration({ basePath: from('MUSTER_CLIENT_OPS_URL'), accessToken: token });
  const accounts = new operator.AccountsApi(team);
  const { Enterprise } = operator.Entitlement;
  const { accountId } = await accounts.createAccount({
    createAccountRequest: { name: 'new', entitlement: Enterprise },
  });
  const renamed = await accounts.changeAccount({ accountId, changeAccountRequest: { name: 'walk' } });
  expect(renamed.name === 'walk' && renamed.entitlement === Enterprise, 'operator: created an account, and renamed it');
  const keys = new operator.APIKeysApi(team);
  const expiresAt = new Date(now + 3_600_000);
  const key = await keys.createApiKey({ accountId, createApiKeyRequest: { name: 'walk', expiresAt } });
  const [listed, ...others] = (await keys.listApiKeys({ accountId })).apiKeys;
  expect(
    listed?.keyId === key.keyId && listed.expiresAt?.getTime() === expiresAt.getTime() && others.length === 0,
    'operator: created an API key that expires in an hour',
  );

  const basePath = from('MUSTER_CLIENT_URL');
  const stranger = new v1.AppsApi(new v1.Configuration({ basePath, accessToken: 'no key' }));
  expect((await refusal(stranger.listApps())).told === '401 invalid_key', 'stranger: 401 invalid_key');

  const owner = new v1.Configuration({ basePath, accessToken: key.apiKey });
  const apps = new v1.AppsApi(owner);
  const create = { idempotencyKey: 'walk-1', createAppRequest: { name: 'edge 1' } };
  const [first, again] = [await apps.createAppRaw(create), await apps.createAppRaw(create)];
  const app = await first.value();
  expect(
    (await again.value()).enrollCode === app.enrollCode &&
      !first.raw.headers.has('Idempotency-Replayed') &&
      again.raw.headers.get('Idempotency-Replayed') === 'true',
    'owner: created an app, and got the same code by the same Idempotency-Key',
  );
  const second = await apps.createApp();
  expect(second.name === '' && second.enrollCode !== app.enrollCode, 'owner: created a second app');
  const pages = new operator.AppsApi(team);
  const page = await pages.listAccountApps({ accountId, limit: 1 });
  const last = await pages.listAccountApps({ accountId, limit: 1, after: page.next });
  const inPages = [...page.apps, ...last.apps].map(({ appId }) => appId);
  expect(
    last.next === undefined && inPages.sort().join() === [app.appId, second.appId].sort().join(),
    'operator: has both apps, in two pages',
  );
  const pending = (await apps.listApps()).apps.filter(
    ({ status, lastSeenAt, createdAt }) =>
      status === v1.AppStatus.Pending && lastSeenAt === null && Math.abs(createdAt.getTime() - now) < 300_000,
  );
  expect(pending.length === 2, 'owner: both apps are pending');

  const devices = from('MUSTER_CLIENT_DEVICE_URL');
  const enrollment = new device.EnrollmentApi(new device.Configuration({ basePath: devices }));
  const { appId, enrollCode } = app;
  const machine = { connection: device.Connection.Cloud, platform: 'linux', agentVersion: '1.0' };
  const enrolled = await enrollment.enrollDevice({ enrollDeviceRequest: { appId, enrollCode, ...machine } });
  expect(enrolled.appId === appId && enrolled.status === 'active', 'device: enrolled');
  const used = { appId, enrollCode, credentialHash: '0'.repeat(64) };
  expect(
    (await refusal(enrollment.enrollDevice({ enrollDeviceRequest: used }))).told === '401 invalid_code',
    'device: the code is used up: 401 invalid_code',
  );

  const configuration = new v1.ConfigurationApi(owner);
  const wanted = {
    enabled: true,
    endpoint: 'https://otel.example.com',
    authHeader: 'Bearer collector-token',
    evidenceLevel: v1.EvidenceLevel.Redacted,
  };
  const unfit = { ...wanted, endpoint: 'https://user@otel.example.com' };
  expect(
    (await refusal(configuration.storeOtelConfig({ storeOtelConfigRequest: unfit }))).told === '400 invalid_endpoint',
    'owner: 400 invalid_endpoint',
  );
  const former = (await configuration.storeOtelConfigRaw({ storeOtelConfigRequest: wanted })).raw.headers.get('ETag');
  const read = await configuration.readOtelConfigRaw({});
  const ifMatch = read.raw.headers.get('ETag') ?? '';
  const change = { storeOtelConfigRequest: { ...wanted, authHeader: 'Bearer another' }, ifMatch };
  const tag = (await configuration.storeOtelConfigRaw(change)).raw.headers.get('ETag') ?? '';
  expect(
    ifMatch === former && tag !== former && tag !== '' && (await read.value()).authHeaderSet,
    'owner: stored, read and changed the configuration by its tag',
  );
  expect(
    (await refusal(configuration.storeOtelConfig(change))).told === '412 precondition_failed',
    'owner: by the former tag: 412 precondition_failed',
  );

  const credential = new device.Configuration({ basePath: devices, accessToken: enrolled.credential ?? '' });
  const daemon = new device.ConfigurationApi(credential);
  const poll = await daemon.pollConfigRaw({});
  const { revision, otel } = await poll.value();
  expect(
    otel.endpoint === wanted.endpoint &&
      otel.evidenceLevel === device.EvidenceLevel.Redacted &&
      otel.headers['Authorization'] === 'Bearer another',
    'device: polled: 200 with the configuration',
  );
  const ifNoneMatch = poll.raw.headers.get('ETag') ?? '';
  expect((await refusal(daemon.pollConfig({ ifNoneMatch }))).told === '304', 'device: polled by its tag: 304');
  const { raw } = await daemon.acknowledgeConfigRaw({
    acknowledgeConfigRequest: { revision, status: device.AckStatus.Applied },
  });
  expect(raw.status === 204, 'device: acknowledged');
  const rollout = await new operator.RolloutApi(team).readRollout({ accountId });
  expect(
    rollout.revision === revision && rollout.devices === 1 && rollout.applied === 1,
    'operator: the rollout is complete',
  );

  const active = await apps.readApp({ appId });
  expect(active.status === v1.AppStatus.Active && active.platform === 'linux', 'owner: the app is active');
  const issued = await apps.issueEnrollCode({ appId: second.appId });
  expect(issued.enrollCode !== second.enrollCode && issued.expiresAt.getTime() > now, 'owner: issued another code');
  const purged = await configuration.purgeOtelConfig({ ifMatch: tag });
  expect(purged.deleted, 'owner: purged the configuration by its tag');
  expect((await apps.revokeApp({ appId })).status === 'revoked', 'owner: revoked the app');
  expect(
    (await refusal(daemon.pollConfig())).told === '401 invalid_credential',
    'device: polled: 401 invalid_credential',
  );
  await apps.deleteApp({ appId: second.appId });
  expect(
    (await refusal(apps.readApp({ appId: second.appId }))).told === '404 not_found',
    'owner: deleted the second app: 404 not_found',
  );
  const { entries } = await new operator.AuditApi(team).listAudit({ accountId });
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
  const busy = new v1.AppsApi(new v1.Configuration({ basePath, accessToken: secret('MUSTER_BUSY_KEY_FILE') }));
  const { told, headers } = await refusal(busy.listApps());
  const seconds = Number(headers.get('Retry-After'));
  expect(told === '429 rate_limited' && seconds >= 1 && seconds <= 60, 'busy: 429 rate_limited, with Retry-After');
}

void main().catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`);
  process.exitCode = 1;
});
