import { afterEach, beforeEach, expect, test } from 'vitest';
import { connectRaw, type RawConnection } from '../../support/http/raw-http.ts';
import { call, createApp, enroll, Muster, OPERATOR_TOKEN, tenant } from '../../support/service/muster.ts';

/* The last bearer of a connection is cached (`api/http/request-headers.ts`), for requests with the same field alone. */

let muster: Muster;
beforeEach(async () => {
  muster = await Muster.start();
});
afterEach(async () => {
  await muster[Symbol.asyncDispose]();
});

const ask = (...fields: readonly string[]): string =>
  `GET /v1/apps HTTP/1.1\r\nHost: x\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n`;
const says = (token: string): string => `Authorization: Bearer ${token}`;

async function statuses(connection: RawConnection, requests: readonly string[]): Promise<number[]> {
  await connection.send(requests.join(''));
  const found: number[] = [];
  for (const _ of requests) found.push((await connection.answer()).status);
  return found;
}

test('requests that come together on one connection are judged each by its own fields', async () => {
  const { apiKey } = await tenant(muster);
  const broken = `${apiKey.slice(0, -1)}${apiKey.endsWith('0') ? '1' : '0'}`;
  await using connection = await connectRaw(muster.service.api.port);
  expect(
    await statuses(connection, [
      ask(says(apiKey)),
      ask(),
      ask(says(broken)),
      ask(says(apiKey), says(apiKey)),
      ask(says(apiKey), 'Authorization:'),
      ask(`Authorization: bearer ${apiKey}`),
      ask(`X-${says(apiKey)}`),
      ask(says(apiKey)),
    ]),
  ).toEqual([200, 401, 401, 401, 401, 200, 401, 200]);
});

test('accounts that share a connection are told of their own apps', async () => {
  const [one, other] = [await tenant(muster), await tenant(muster)];
  const { appId } = await createApp(muster, one.apiKey);
  await using connection = await connectRaw(muster.service.api.port);
  await connection.send([one, other, one].map(({ apiKey }) => ask(says(apiKey))).join(''));
  const told = [await connection.answer(), await connection.answer(), await connection.answer()];
  expect(told.map(({ body }) => body.includes(appId))).toEqual([true, false, true]);
});

test('a key that was revoked is refused on the connection on which it worked', async () => {
  const { apiKey, accountId, keyId } = await tenant(muster);
  await using connection = await connectRaw(muster.service.api.port);
  expect(await statuses(connection, [ask(says(apiKey)), ask(says(apiKey))])).toEqual([200, 200]);
  const revoked = await call(`${muster.ops}/operator/v1/accounts/${accountId}/api-keys/${keyId}`, {
    method: 'DELETE',
    token: OPERATOR_TOKEN,
  });
  expect(revoked.status).toBe(204);
  expect(await statuses(connection, [ask(says(apiKey)), ask(says(apiKey))])).toEqual([401, 401]);
});

test('so is a credential', async () => {
  const { apiKey } = await tenant(muster);
  const app = await createApp(muster, apiKey);
  const credential = await enroll(muster, app);
  const polls = `GET /device/v1/config HTTP/1.1\r\nHost: x\r\n${says(credential)}\r\n\r\n`;
  await using connection = await connectRaw(muster.service.device.port);
  expect(await statuses(connection, [polls, polls])).toEqual([200, 200]);
  await call(`${muster.api}/v1/apps/${app.appId}/revoke`, { method: 'POST', token: apiKey });
  expect(await statuses(connection, [polls, polls])).toEqual([401, 401]);
});
