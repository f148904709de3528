import { expect } from 'vitest';
import { call, enroll, createApp, tenant, type Muster, type Tenant } from '../../service/muster.ts';

/** Checks by the sentence of "What is not promised" that they show to be so: each fails where the thing is there. */
export type Checks = Readonly<Record<string, () => Promise<void>>>;

export const YEAR_MS = 366 * 86_400_000;

/** Lets a test say from which address a request comes. */
export const BEHIND_PROXY = { MUSTER_TRUSTED_PROXIES: '127.0.0.1' };
export const from = (address: string): { readonly 'x-forwarded-for': string } => ({ 'x-forwarded-for': address });

interface Enrolled extends Tenant {
  readonly appId: string;
  readonly credential: string;
}

/** An account of Enterprise with an app whose daemon is enrolled. */
export async function enrolled(muster: Muster): Promise<Enrolled> {
  const owner = await tenant(muster);
  const app = await createApp(muster, owner.apiKey);
  return { ...owner, appId: app.appId, credential: await enroll(muster, app) };
}

/** Stores a configuration whose endpoint is this. @returns the status */
export async function configure(
  muster: Muster,
  apiKey: string,
  endpoint: string,
  authHeader?: string,
): Promise<number> {
  const body = { enabled: true, endpoint, evidenceLevel: 'full', ...(authHeader !== undefined && { authHeader }) };
  return (await call(`${muster.api}/v1/otel-config`, { method: 'PUT', token: apiKey, body })).status;
}

/** All of these are equal to one value. */
export function expectAll<Value>(values: readonly Value[], expected: Value): void {
  expect(values.length).toBeGreaterThan(0);
  expect(values).toEqual(values.map(() => expected));
}
