import { parse } from 'yaml';
import * as z from 'zod';
import { auditOf, type AuditEntry } from '../service/daemon.ts';
import { call, createApp, enroll, tenant, type Muster, type Tenant } from '../service/muster.ts';

/** An app that speaks OpAMP, with its account. */
interface Enrolled extends Tenant {
  readonly appId: string;
  readonly credential: string;
}

type Reached = Pick<Muster, 'api' | 'device' | 'ops'>;

/** The URL of the endpoint. */
export const opampUrl = ({ device }: Pick<Muster, 'device'>): string => `${device}/v1/opamp`;

/** An app, enrolled as `cloud`, of an account of its own or of the given one. */
export async function enrolledApp(muster: Reached, owner?: Tenant): Promise<Enrolled> {
  const account = owner ?? (await tenant(muster));
  const app = await createApp(muster, account.apiKey);
  return { ...account, appId: app.appId, credential: await enroll(muster, app) };
}

/** PUT /v1/otel-config. @throws Error where it is refused */
export async function setExport(muster: Reached, { apiKey }: Tenant, more: object = {}): Promise<void> {
  const body = { enabled: true, endpoint: 'https://otel.example.com', ...more };
  const answer = await call(`${muster.api}/v1/otel-config`, { method: 'PUT', token: apiKey, body });
  if (answer.status !== 200) throw new Error(`PUT /v1/otel-config: ${answer.status} ${answer.text}`);
}

/** DELETE /v1/otel-config. @throws Error where it is refused */
export async function purge(muster: Reached, { apiKey }: Tenant): Promise<void> {
  const answer = await call(`${muster.api}/v1/otel-config`, { method: 'DELETE', token: apiKey });
  if (answer.status !== 200) throw new Error(`DELETE /v1/otel-config: ${answer.status} ${answer.text}`);
}

/** POST /v1/apps/{appId}/revoke. @throws Error where it is refused */
export async function revokeApp(muster: Reached, { apiKey, appId }: Pick<Enrolled, 'apiKey' | 'appId'>): Promise<void> {
  const answer = await call(`${muster.api}/v1/apps/${appId}/revoke`, { method: 'POST', token: apiKey });
  if (answer.status >= 300) throw new Error(`POST revoke: ${answer.status} ${answer.text}`);
}

/** The audit's entries on one action. */
export async function audited(muster: Muster, { accountId }: Tenant, action: string): Promise<readonly AuditEntry[]> {
  return (await auditOf(muster, accountId)).filter((entry) => entry.action === action);
}

const COLLECTOR_FILE = z.object({
  exporters: z
    .object({
      'otlp_http/muster': z.object({ endpoint: z.string(), headers: z.record(z.string(), z.string()).optional() }),
    })
    .optional(),
});

/**
 * What a collector makes of a configuration of the built-in template: each doubled `$` is one. Undefined if it is
 * empty.
 */
export function exporterIn(text: string): { endpoint: string; headers: Record<string, string> } | undefined {
  const exporter = COLLECTOR_FILE.parse(parse(text)).exporters?.['otlp_http/muster'];
  if (!exporter) return undefined;
  const single = (value: string): string => value.replaceAll('$$', () => '$');
  return {
    endpoint: single(exporter.endpoint),
    headers: Object.fromEntries(Object.entries(exporter.headers ?? {}).map(([name, value]) => [name, single(value)])),
  };
}
