import { expect } from 'vitest';
import { connectRaw } from '../http/raw-http.ts';
import { call, OPERATOR_TOKEN, type Answer, type Call, type Muster } from './muster.ts';

/** Section 7 of the specification, row by row. Nothing else may leave `/v1`. */
export const SECTION_7 = [
  [401, 'invalid_key'],
  [401, 'account_disabled'],
  [404, 'not_found'],
  [400, 'invalid_name'],
  [400, 'limit_reached'],
  [403, 'enterprise_required'],
  [400, 'invalid_enabled'],
  [400, 'invalid_endpoint'],
  [400, 'invalid_auth_header'],
  [400, 'invalid_evidence_level'],
  [413, 'payload_too_large'],
  [429, 'rate_limited'],
  [502, 'upstream_unavailable'],
] as const;
export type V1Code = (typeof SECTION_7)[number][1];

export const DAY_MS = 86_400_000;

/** Sends a request of one caller: `ask('POST /v1/apps', { body })`. */
export type Ask = (target: string, options?: Omit<Call, 'method' | 'token'>) => Promise<Answer>;

function asker(base: string, token: string | undefined): Ask {
  return (target, options) => {
    const [method = '', path = ''] = target.split(' ');
    return call(base + path, { ...options, method, token });
  };
}

/** `/v1` with an API key, or without one. */
export const asCaller = (muster: Muster, apiKey?: string): Ask => asker(muster.api, apiKey);

/** `/operator/v1` with the operator's token. */
export const asOperator = (muster: Muster): Ask => asker(`${muster.ops}/operator/v1`, OPERATOR_TOKEN);

/** Holds a refusal to section 7: the status of its code, and a body of exactly that shape. */
export function expectRefusal(answer: Answer, code: V1Code): void {
  const status = SECTION_7.find((row) => row[1] === code)?.[0];
  expect({ status: answer.status, code: codeOf(answer) }).toEqual({ status, code });
  expect(answer.body).toEqual({ error: { code, message: expect.any(String) as string } });
  expect(answer.headers.get('content-type')).toBe('application/json');
}

/** The code of a refusal, `''` of a success. */
export function codeOf({ body }: Answer): string {
  const { error } = body;
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}

/** Runs the work that many times, so many at once; results in the order of the numbers. */
export async function times<T>(count: number, atOnce: number, work: (number: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (let from = 0; from < count; from += atOnce) {
    const size = Math.min(atOnce, count - from);
    results.push(...(await Promise.all(Array.from({ length: size }, (_, i) => work(from + i)))));
  }
  return results;
}

/** Uses up requests of the account's window, all on one connection. */
export async function spend(muster: Muster, apiKey: string, requests: number): Promise<void> {
  await using connection = await connectRaw(muster.service.api.port);
  await connection.send(
    `HEAD /v1/apps HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${apiKey}\r\n\r\n`.repeat(requests),
  );
  const statuses = new Set<number>();
  for (let i = 0; i < requests; i += 1) statuses.add((await connection.answer({ method: 'HEAD' })).status);
  expect([...statuses]).toEqual([200]);
}
