import type { GivenRole } from '../../../src/domain/users/user-state.ts';
import { call, createApp, enroll, OPERATOR_TOKEN, tenant, type Muster, type Tenant } from '../service/muster.ts';

/* An account as one finds it after some weeks, for the panel's pages. */

/** Where a service is, in a process of its own or in this one. */
export type Where = Pick<Muster, 'api' | 'device' | 'ops' | 'panel'>;

export interface SeededAccount extends Tenant {
  readonly name: string;
  readonly appIds: readonly string[];
  /** Of the first enrolled app. */
  readonly credential: string;
}

const SEVERITIES = ['low', 'medium', 'high', 'critical'] as const;
const operator = { token: OPERATOR_TOKEN } as const;

/** Makes an account with apps in every status, a configuration, acknowledgements and detections. */
export async function seedAccount(where: Where, apps = 12): Promise<SeededAccount> {
  const owner = await tenant(where);
  const name = 'Acme Production';
  await changed(`${where.ops}/operator/v1/accounts/${owner.accountId}`, 'PATCH', { ...operator, body: { name } });
  const key = { token: owner.apiKey };
  await changed(`${where.api}/v1/otel-config`, 'PUT', {
    ...key,
    body: {
      enabled: true,
      endpoint: 'https://otel.example.com:4318',
      authHeader: 'Bearer seed',
      evidenceLevel: 'redacted',
    },
  });
  const appIds: string[] = [];
  const credentials: string[] = [];
  for (let index = 0; index < apps; index += 1) {
    const app = await createApp(where, owner.apiKey, `edge-${String(index + 1).padStart(3, '0')}`);
    appIds.push(app.appId);
    if (index % 4 !== 3) credentials.push(await enroll(where, app));
    if (index % 8 === 6) await changed(`${where.api}/v1/apps/${app.appId}/revoke`, 'POST', key);
  }
  for (const [index, token] of credentials.entries()) await report(where, token, index);
  return { ...owner, name, appIds, credential: credentials[0] ?? '' };
}

/** What a daemon says: that it applied the configuration or could not, and what it detected. */
async function report({ device }: Where, token: string, index: number): Promise<void> {
  const polled = await call(`${device}/device/v1/config`, { token });
  if (polled.status !== 200) return;
  const { revision } = polled.body as { revision?: number };
  if (index % 3 !== 2) {
    const failed = index % 5 === 4;
    const body = failed
      ? { revision, status: 'failed', error: 'the collector does not answer' }
      : { revision, status: 'applied' };
    await call(`${device}/device/v1/config/ack`, { method: 'POST', token, body });
  }
  const severity = SEVERITIES[index % SEVERITIES.length];
  await call(`${device}/device/v1/detections`, {
    method: 'POST',
    token,
    body: {
      events: [
        {
          id: `event-${index}`,
          at: new Date(Date.now() - index * 60_000).toISOString(),
          rule: 'secrets-in-prompt',
          severity,
          evidence: { hash: `sha256:${String(index).padStart(16, '0')}`, redacted: `token=**** (line ${index + 1})` },
        },
      ],
    },
  });
}

async function changed(url: string, method: string, request: object): Promise<void> {
  const answer = await call(url, { method, ...request });
  if (answer.status >= 300) throw new Error(`${method} ${url}: ${answer.status} ${answer.text}`);
}

/** A user whom the operator makes: the address of his first link. */
export async function userLink({ ops }: Pick<Where, 'ops'>, login: string, role: GivenRole): Promise<string> {
  const made = await call(`${ops}/operator/v1/users`, {
    method: 'POST',
    ...operator,
    body: { name: login.split('@')[0] ?? login, login, role },
  });
  if (made.status !== 201) throw new Error(`POST /operator/v1/users: ${made.status} ${made.text}`);
  return (made.body['link'] as { url: string }).url;
}
