import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { rotateKeys } from '../../../../src/cli/commands/keys/rotate.ts';
import { invocation } from '../../../../src/cli/terminal/invocation.ts';
import type { Clock } from '../../../../src/time/clock.ts';
import { recordedTerminal } from '../../../support/cli/recorded-terminal.ts';
import { writeKeys } from '../../../support/records/key-lines.ts';
import { OPERATOR_TOKEN } from '../../../support/service/muster.ts';

interface Answer {
  readonly status?: number;
  readonly body: object;
}

interface Rotating {
  readonly said: readonly string[];
  /** What `-o json` prints. */
  readonly result: unknown;
}

const rotate = async (...args: Parameters<typeof rotating>): Promise<readonly string[]> =>
  (await rotating(...args)).said;

/**
 * A service that gives these answers, the last one again and again.
 * @param statuses the fields of each status that matter
 * @returns what the command said and printed
 */
async function rotating(
  rotations: Answer[],
  sealed: object[],
  statuses: object[] = [{ countedAll: true }],
  wait = true,
  more: Readonly<Record<string, string>> = {},
): Promise<Rotating> {
  const next = <T>(all: T[]): T | undefined => (all.length > 1 ? all.shift() : all[0]);
  const server = createServer(({ method }, response) => {
    const { status = 200, body } = (method === 'POST' ? next(rotations) : undefined) ?? {
      body: { writing: 2, known: [1, 2], removable: [], sealedUnder: next(sealed), ...next(statuses) },
    };
    response.writeHead(status, { connection: 'close' }).end(JSON.stringify(body));
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  let now = 0;
  const clock: Clock = { now: () => now, monotonic: () => now, sleep: async (ms) => void (now += ms) };
  const env = {
    MUSTER_CLIENT_OPS_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    MUSTER_CLIENT_OPERATOR_TOKEN: OPERATOR_TOKEN,
    ...more,
  };
  const terminal = recordedTerminal();
  await rotateKeys(invocation(env, { output: 'json' }, { clock, terminal }), { wait });
  return { said: terminal.err().split(/(?<=\n)/), result: JSON.parse(terminal.out()) };
}

const lacking: Answer = {
  status: 400,
  body: { error: { code: 'invalid_request', message: '1 of 3 replicas do not know key 2 yet' } },
};
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

test('right behind `muster keys add` it waits until the service has read the key file', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'muster-rotate-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true }));
  writeKeys(join(dataDir, 'keys'), 1, 2, 3);
  const unread: Answer = { body: { writing: 2, before: 2 } };
  const more = { MUSTER_DATA_DIR: dataDir };
  const said = await rotate([unread, unread, { body: { writing: 3, before: 2 } }], [{}], undefined, false, more);
  expect(said).toEqual([
    expect.stringContaining('is yet to read the new key'),
    expect.stringContaining('Key 3 is active from now on'),
    expect.stringContaining('`muster keys status` tells'),
  ]);
  await expect(rotate([unread], [{}], undefined, false, more)).rejects.toThrow(
    'Key 2 is active already: the service has not read the newer one',
  );
});

test('it prints which key is active, which was, and whether all is rewrapped', async () => {
  expect((await rotating([rotated], [{ 1: 7 }, { 2: 7 }])).result).toEqual({ writing: 2, before: 1, rewrapped: true });
  expect((await rotating([rotated], [{ 1: 7 }], undefined, false)).result).toEqual({
    writing: 2,
    before: 1,
    rewrapped: false,
  });
});

test('without the wait it ends once the key is active', async () => {
  const said = await rotate([lacking, rotated], [{ 1: 7 }], undefined, false);
  expect(said).toEqual([
    expect.stringContaining('1 of 3 replicas do not know key 2 yet'),
    expect.stringContaining('Key 2 is active from now on'),
    expect.stringContaining('`muster keys status` tells'),
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
  ['a replica never learns the key', [lacking], [{}], /1 of 3 replicas do not know key 2 yet/, 400],
  [
    'there is no newer key',
    [{ body: { writing: 2, before: 2 } }],
    [{ 2: 9 }],
    /Key 2 is active already: add a line/,
    undefined,
  ],
  ['the rewrapping stands still', [rotated], [{ 1: 3 }], /3 may still be sealed under an older key/, undefined],
  [
    'the token is wrong',
    [{ status: 401, body: { error: { code: 'invalid_token', message: 'It is unknown.' } } }],
    [{}],
    /does not take the operator token/,
    401,
  ],
])('where %s it fails', async (_name, rotations, sealed, words, status) => {
  await expect(rotate([...rotations], [...sealed])).rejects.toMatchObject({
    message: expect.stringMatching(words) as string,
    ...(status === undefined ? { exitCode: 1 } : { status }),
  });
});
