import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { answerJson, answerText } from '../../../src/cli/connection/told.ts';
import { musterHere } from '../../support/service/muster-command.ts';

/* Whoever listens at a wrong address may answer without end: a command reads no more of it than it needs. */

const MIB = 1024 * 1024;
const TOKEN = 'operator-token-for-tests-0123456789';

test.each<[number, number | undefined, string]>([
  [4 * MIB, 4 * MIB, 'the largest'],
  [4 * MIB + 1, undefined, 'one byte more'],
  [0, 0, 'an empty one'],
])('a text of %i bytes is read: %j (%s)', async (bytes, length) => {
  expect((await answerText(new Response('x'.repeat(bytes))))?.length).toBe(length);
});

test.each([
  ['{"status":"ready"}', { status: 'ready' }],
  ['<html>', undefined],
  ['', undefined],
  [`${' '.repeat(4 * MIB)}{}`, undefined],
])('the JSON of %.20j is %j', async (text, json) => {
  expect(await answerJson(new Response(text))).toEqual(json);
});

/** More than a socket takes before anybody reads. */
const PIECES = 64;

/** An ops listener that answers with so much where `isLong` says so. */
async function strange(status: number, isLong: (path: string) => boolean) {
  const sent = { pieces: 0 };
  const piece = Buffer.alloc(MIB, ' ');
  const flood = (response: ServerResponse): void => {
    while (sent.pieces < PIECES) {
      sent.pieces += 1;
      if (!response.write(piece)) return void response.once('drain', () => flood(response));
    }
    response.end();
  };
  const server = createServer(({ url = '', headers }, response) => {
    response.writeHead(status, { 'x-request-id': headers.authorization?.slice('Bearer '.length) ?? 'r-1' });
    if (isLong(url)) flood(response);
    else response.end('{"status":"ready"}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const env = {
    MUSTER_CLIENT_OPS_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    MUSTER_CLIENT_OPERATOR_TOKEN: TOKEN,
  };
  return { env, sent, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

test.each([
  [['accounts', 'list'], 401, '/operator/v1/accounts', 1, "The answer is 401, and not one of Muster's."],
  [['status'], 200, '/readyz', 1, "not as Muster's ops listener does"],
  [['status'], 200, '/metrics', 0, ''],
  [['version', '--running'], 200, '/metrics', 1, "does not answer as Muster's ops listener does"],
  [['doctor', '--running'], 200, '/readyz', 3, ''],
])('muster %j before an answer of %i without end to %s ends with %i', async (args, status, path, code, says) => {
  await using stranger = await strange(status, (url) => url.startsWith(path));
  const ended = await musterHere(args, stranger.env);
  expect(ended).toMatchObject({ code, stderr: expect.stringContaining(says) as string });
  expect(stranger.sent.pieces).toBeGreaterThan(3);
  expect(stranger.sent.pieces).toBeLessThan(PIECES);
  expect(`${ended.stdout}${ended.stderr}`).not.toContain(TOKEN);
});

test('a refusal of the token is told with the id that was sent, whatever stands in the answer', async () => {
  const body = JSON.stringify({ error: { code: 'invalid_token', message: 'It is unknown.' } });
  await using server = createServer(({ headers }, response) => {
    response.writeHead(401, { 'x-request-id': headers.authorization?.slice('Bearer '.length) ?? '' }).end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const env = {
    MUSTER_CLIENT_OPS_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    MUSTER_CLIENT_OPERATOR_TOKEN: TOKEN,
  };
  const { code, stderr } = await musterHere(['accounts', 'list', '--request-id', 'night-1'], env);
  expect([code, stderr]).toEqual([
    5,
    expect.stringMatching(/where it is from, MUSTER_CLIENT_OPERATOR_TOKEN\. \(request night-1\)\n$/),
  ]);
});
