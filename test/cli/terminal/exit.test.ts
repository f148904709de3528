import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { systemRandom } from '../../../src/domain/credentials/random-ids.ts';
import { generateApiKey } from '../../../src/domain/credentials/tokens.ts';
import { musterHere } from '../../support/service/muster-command.ts';

/*
 * What an answer says about names and keys counts where it is one of Muster's; anybody may listen at a wrong address.
 */

const apiKey = generateApiKey(systemRandom()).token.reveal();
const missing = JSON.stringify({ error: { code: 'not_found', message: 'There is no such app.' } });
const refused = JSON.stringify({ error: { code: 'invalid_key', message: 'The key is unknown.' } });

test.each([
  { what: 'a 404 of Muster', status: 404, body: missing, code: 4, says: 'There is no such app.' },
  { what: 'a 404 of another service', status: 404, body: 'nothing here', code: 1, says: "not one of Muster's" },
  { what: 'a 401 of Muster', status: 401, body: refused, code: 5, says: 'does not take the API key' },
  { what: 'a 401 of another service', status: 401, body: '<html>', code: 1, says: "not one of Muster's" },
])('$what ends with $code', async ({ status, body, code, says }) => {
  await using server = createServer((_, response) => response.writeHead(status).end(body)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ended = await musterHere(['apps', 'get', 'a'.repeat(20)], {
    MUSTER_CLIENT_URL: url,
    MUSTER_CLIENT_API_KEY: apiKey,
  });
  expect(ended).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(says) as string });
});

const unknown = JSON.stringify({ error: { code: 'invalid_token', message: 'The token is unknown.' } });

test.each([
  { what: 'a 401 of Muster to an operator', body: unknown, code: 5, says: 'does not take the operator token' },
  { what: 'a 401 of another service to an operator', body: '<html>', code: 1, says: "not one of Muster's" },
])('$what ends with $code', async ({ body, code, says }) => {
  await using server = createServer((_, response) => response.writeHead(401).end(body)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const env = {
    MUSTER_CLIENT_OPS_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    MUSTER_CLIENT_OPERATOR_TOKEN: 'operator-token-for-tests-0123456789',
  };
  const ended = await musterHere(['accounts', 'list'], env);
  expect(ended).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(says) as string });
});
