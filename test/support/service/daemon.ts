import { createHash, randomBytes } from 'node:crypto';
import { until } from '../time/until.ts';
import { call, OPERATOR_TOKEN, poll, type Answer, type CreatedApp, type Muster } from './muster.ts';

/** A credential that a daemon made itself. */
export interface OwnCredential {
  readonly token: string;
  /** The hash that it sends when it enrolls: SHA-256 of the token, 64 hex digits. */
  readonly hash: string;
}

export function ownCredential(): OwnCredential {
  const token = `mst_dev_${randomBytes(32).toString('base64url')}`;
  return { token, hash: createHash('sha256').update(token).digest('hex') };
}

/** POST /device/v1/enroll with just these fields. */
export const sendEnroll = (muster: Muster, body: object | string): Promise<Answer> =>
  call(`${muster.device}/device/v1/enroll`, { method: 'POST', body });

/** Enrolls with the app's code and a hash of the daemon's own credential. */
export const enrollOwn = (muster: Muster, { appId, enrollCode }: CreatedApp, hash: string): Promise<Answer> =>
  sendEnroll(muster, { appId, enrollCode, credentialHash: hash });

/** As `enrollOwn`, with a bearer: the credential itself proves that the daemon has it. */
export const enrollProving = (
  muster: Muster,
  { appId, enrollCode }: CreatedApp,
  { token, hash }: OwnCredential,
  proof = token,
): Promise<Answer> =>
  call(`${muster.device}/device/v1/enroll`, {
    method: 'POST',
    token: proof,
    body: { appId, enrollCode, credentialHash: hash },
  });

/** Another code for the app: what `POST /v1/apps` would have given. */
export async function issueCode(muster: Muster, apiKey: string, appId: string): Promise<CreatedApp> {
  const issued = await call(`${muster.api}/v1/apps/${appId}/enroll-code`, { method: 'POST', token: apiKey });
  if (issued.status !== 201) throw new Error(`POST enroll-code: ${issued.status} ${issued.text}`);
  return { appId, enrollCode: String(issued.body['enrollCode']) };
}

export const revoke = (muster: Muster, apiKey: string, appId: string): Promise<Answer> =>
  call(`${muster.api}/v1/apps/${appId}/revoke`, { method: 'POST', token: apiKey });

export const deleteApp = (muster: Muster, apiKey: string, appId: string): Promise<Answer> =>
  call(`${muster.api}/v1/apps/${appId}`, { method: 'DELETE', token: apiKey });

export async function readApp(muster: Muster, apiKey: string, appId: string): Promise<Answer['body']> {
  return (await call(`${muster.api}/v1/apps/${appId}`, { token: apiKey })).body;
}

export const setOtel = (muster: Muster, apiKey: string, more: object = {}): Promise<Answer> =>
  call(`${muster.api}/v1/otel-config`, {
    method: 'PUT',
    token: apiKey,
    body: { enabled: true, endpoint: 'https://otel.example.com', ...more },
  });

export const purgeOtel = (muster: Muster, apiKey: string): Promise<Answer> =>
  call(`${muster.api}/v1/otel-config`, { method: 'DELETE', token: apiKey });

/** PATCH /operator/v1/accounts/{accountId}. */
export const changeAccount = (muster: Muster, accountId: string, patch: object): Promise<Answer> =>
  call(`${muster.ops}/operator/v1/accounts/${accountId}`, { method: 'PATCH', token: OPERATOR_TOKEN, body: patch });

/**
 * A poll while the operator asks as well. A retry with a rejected credential is answered along with other reads, and
 * alone only after more than a second.
 */
export async function pollInCompany(muster: Muster, credential: string): Promise<Answer> {
  let isAnswered = false;
  const answer = poll(muster, credential).finally(() => (isAnswered = true));
  await until(async () => {
    await call(`${muster.ops}/operator/v1/accounts?limit=1`, { token: OPERATOR_TOKEN });
    return isAnswered;
  });
  return await answer;
}

export interface AuditEntry {
  readonly at: string;
  readonly actor: string;
  readonly actorName?: string;
  readonly action: string;
  readonly appId?: string;
  readonly targetName?: string;
  readonly requestId: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** The whole audit of an account, oldest first. */
export async function auditOf(muster: Muster, accountId: string): Promise<readonly AuditEntry[]> {
  const url = `${muster.ops}/operator/v1/accounts/${accountId}/audit?limit=1000`;
  return (await call(url, { token: OPERATOR_TOKEN })).body['entries'] as readonly AuditEntry[];
}

/** Requests that are under way on each listener, but for the one that asks. */
export async function requestsInFlight(muster: Muster): Promise<{ api: number; device: number; ops: number }> {
  const { text } = await call(`${muster.ops}/metrics`);
  const of = (listener: string): number =>
    Number(new RegExp(`^muster_http_requests_in_flight\\{listener="${listener}"\\} (\\d+)$`, 'm').exec(text)?.[1]);
  return { api: of('api'), device: of('device'), ops: of('ops') - 1 };
}

/** The value of one series, named as /metrics writes it, labels and all; 0 where it has not been seen. */
export async function metric(muster: Muster, series: string): Promise<number> {
  const { text } = await call(`${muster.ops}/metrics`);
  const line = text.split('\n').find((line) => line.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1) ?? 0);
}
