import { writeFileSync } from 'node:fs';
import { expect } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { Store } from '../../../src/store/port.ts';
import { call, OPERATOR_TOKEN, type Answer, type Muster } from '../service/muster.ts';
import type { FakeClock } from '../time/fake-clock.ts';
import { until } from '../time/until.ts';

/** A line of a key file: the key of 32 bytes that all are `fill`. */
export const keyLine = (number: number, fill = number + 6): string =>
  `${number}:${Buffer.alloc(32, fill).toString('base64')}\n`;

/** Writes a key file with these keys; key 1 is that of `KEY_FILE_TEXT`. */
export function writeKeys(path: string, ...numbers: readonly number[]): string {
  writeFileSync(path, numbers.map((number) => keyLine(number)).join(''), { mode: 0o600 });
  return path;
}

export interface KeysShown {
  readonly writing: number;
  readonly known: readonly number[];
  readonly replicas: readonly { replicaId: string; keyNumbers: readonly number[] }[];
  readonly sealedUnder: Readonly<Record<string, number>>;
  readonly awaitingRetirement: Readonly<Record<string, number>>;
  readonly removable: readonly number[];
}

export async function keysOf(muster: Pick<Muster, 'ops'>): Promise<KeysShown> {
  const answer = await call(`${muster.ops}/operator/v1/keys`, { token: OPERATOR_TOKEN });
  expect(answer.status).toBe(200);
  return answer.body as unknown as KeysShown;
}

export const rotate = (muster: Pick<Muster, 'ops'>): Promise<Answer> =>
  call(`${muster.ops}/operator/v1/keys/rotation`, { method: 'POST', token: OPERATOR_TOKEN });

/**
 * Resolves when a replica whose keys this changes has joined with them. A join rewrites the record of the active key,
 * after the announcement that the registry shows. A join that failed comes again with the time that passes here.
 */
export async function untilJoined(
  store: Pick<Store, 'get'>,
  clock: FakeClock,
  change: () => Promise<unknown>,
): Promise<void> {
  const revision = async (): Promise<number> => (await store.get(KEYS.activeKey()))?.revision ?? 0;
  const before = await revision();
  await change();
  await until(async () => {
    if ((await revision()) > before) return true;
    clock.advance(1000);
    return false;
  });
}

/** Advances the clock by one second a request until the answer of `GET /operator/v1/keys` is as wanted. */
export async function untilKeys(
  muster: Pick<Muster, 'ops'>,
  clock: FakeClock,
  wanted: (keys: KeysShown) => boolean,
): Promise<KeysShown> {
  let keys = await keysOf(muster);
  await until(async () => {
    clock.advance(1000);
    keys = await keysOf(muster);
    return wanted(keys);
  });
  return keys;
}
