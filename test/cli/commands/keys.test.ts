import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { rotateKeys } from '../../../src/cli/commands/keys.ts';
import type { Clock } from '../../../src/time/clock.ts';
import { OPERATOR_TOKEN } from '../../support/service/muster.ts';

interface Answer {
  readonly status?: number;
  readonly body: object;
}

/**
 * A service that gives these answers, the last one again and again.
 * @param statuses the fields of each status that matter
 * @returns what the command said
 */
async function rotate(
  rotations: Answer[],
  sealed: object[],
  statuses: object[] = [{ countedAll: true }],
): Promise<readonly string[]> {
  const next = <T>(all: T[]): T | undefined => (all.length > 1 ? all.shift() : all[0]);
  const server = createServer(({ method }, response) => {
    const { status = 200, body } = (method === 'POST' ? next(rotations) : undefined) ?? {
      body: { writing: 2, known: [1, 2], removable: [], sealedUnder: next(sealed), ...next(statuses) },
    };
    response.writeHead(status, { connection: 'close' }).end(JSON.stringify(body));
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const said: string[] = [];
  const stderr = vi.spyOn(process.stderr, 'write').mockImplementation((text) => said.push(String(text)) > 0);
  let now = 0;
  const clock: Clock = { now: () => now, monotonic: () => now, sleep: async (ms) => void (now += ms) };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    await rotateKeys({ MUSTER_OPS_URL: url, MUSTER_OPERATOR_TOKEN: OPERATOR_TOKEN }, clock);
    return said;
  } finally {
    stderr.mockRestore();
  }
}

const lacking: Answer = { status: 400, body: { error: { message: '1 of 3 replicas do not know key 2 yet' } } };
const rotated: Answer = { body: { writing: 2, before: 1 } };

test('it waits until every replica knows the key, and nothing is sealed under an older one', async () => {
  const said = await rotate([lacking, lacking, rotated], [{ 1: 7 }, { 1: 7, 2: 3 }, { 1: 2, 2: 8 }, { 1: 0, 2: 10 }]);
  expect(said).toEqual([
    expect.stringContaining('1 of 3 replicas do not know key 2 yet'),
    expect.stringContaining('Key 2 is active from now on'),
    '7 left to rewrap\n',
    '2 left to rewrap\n',
    expect.stringContaining('Nothing is sealed under an older key than 2.'),
  ]);
});

test('a rotation that was interrupted goes on', async () => {
  const said = await rotate([{ body: { writing: 2, before: 2 } }], [{ 1: 1, 2: 3 }, { 1: 1, 2: 3 }, { 2: 4 }]);
  expect(said.at(-1)).toContain('Nothing is sealed under an older key');
});

test('where not every record was counted it waits until the leader has gone over all of them', async () => {
  const uncounted = { countedAll: false };
  const statuses = [uncounted, uncounted, uncounted, { countedAll: false, removable: [1] }];
  const said = await rotate([rotated], [{ 1: 7 }, { 2: 7 }], statuses);
  expect(statuses).toHaveLength(1);
  expect(said.slice(1)).toEqual([
    '7 left to rewrap\n',
    expect.stringContaining('more records than were counted'),
    expect.stringContaining('Nothing is sealed under an older key'),
  ]);
});

test('records that were never counted do not pass for rewrapped', async () => {
  await expect(rotate([rotated], [{ 2: 7 }], [{ countedAll: false }])).rejects.toThrow(
    /Records that were not counted may still be sealed/,
  );
});

test.each<[string, object, RegExp | undefined]>([
  [
    'no older key is in the key file',
    { countedAll: false, known: [2] },
    /Not everything was counted, and no older key/,
  ],
  ['its line is there, and may be removed', { countedAll: false, removable: [1] }, undefined],
  ['all was counted', { countedAll: true, known: [2] }, undefined],
])('it says that nothing is sealed under an older key only where that is known: %s', async (_, status, fault) => {
  const rotation = rotate([rotated], [{ 2: 20_000 }], [status]);
  if (fault)
    await expect(rotation).rejects.toMatchObject({ exitCode: 1, message: expect.stringMatching(fault) as string });
  else expect((await rotation).at(-1)).toContain('Nothing is sealed under an older key');
});

test('without a newer key it asks for one, also where not every record is counted', async () => {
  const rotation = rotate([{ body: { writing: 2, before: 2 } }], [{ 2: 20_000 }], [{ countedAll: false, known: [2] }]);
  await expect(rotation).rejects.toThrow(/Key 2 is active already: add a line/);
});

test.each([
  ['a replica never learns the key', [lacking], [{}], /1 of 3 replicas do not know key 2 yet/],
  ['there is no newer key', [{ body: { writing: 2, before: 2 } }], [{ 2: 9 }], /Key 2 is active already: add a line/],
  ['the rewrapping stands still', [rotated], [{ 1: 3 }], /3 may still be sealed under an older key/],
  ['the token is wrong', [{ status: 401, body: {} }], [{}], /does not know the operator token/],
])('where %s it fails with exit code 1', async (_name, rotations, sealed, words) => {
  await expect(rotate([...rotations], [...sealed])).rejects.toMatchObject({
    exitCode: 1,
    message: expect.stringMatching(words) as string,
  });
});
