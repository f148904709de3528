import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { isListening } from '../support/http/listening.ts';
import { connectRaw, header } from '../support/http/raw-http.ts';
import { call, createApp, enroll, Muster, poll, tenant } from '../support/service/muster.ts';
import { etcdBackend } from '../support/store/backends.ts';
import { FakeClock } from '../support/time/fake-clock.ts';
import { until } from '../support/time/until.ts';

/* MUSTER_DRAIN_DELAY_SECONDS: a load balancer that has not yet seen that the replica leaves still sends to it. */

const DELAY_SECONDS = 15;

let clock: FakeClock;
let muster: Muster;
beforeEach(async () => {
  clock = new FakeClock();
  muster = await Muster.start({ clock, env: { MUSTER_DRAIN_DELAY_SECONDS: String(DELAY_SECONDS) } });
});
afterEach(async () => {
  clock.advance(DELAY_SECONDS * 1000);
  await muster[Symbol.asyncDispose]();
});

const port = (url: string): number => Number(new URL(url).port);

/** Stops the service, and waits until it is not ready any more. */
async function leaving(): Promise<{ readonly stopped: Promise<void> }> {
  const stopped = muster.service.stop();
  await until(async () => (await call(`${muster.ops}/readyz`)).text.includes('draining'));
  return { stopped };
}

describe('until the delay is over', () => {
  test('it is alive and not ready, and answers each request with the wish to close the connection', async () => {
    const { apiKey } = await tenant(muster);
    await leaving();
    expect((await call(`${muster.ops}/livez`)).status).toBe(200);
    for (const attempt of [1, 2]) {
      const answer = await call(`${muster.api}/v1/apps`, { token: apiKey });
      expect([attempt, answer.status, answer.headers.get('connection')]).toEqual([attempt, 200, 'close']);
    }
  });

  test('a connection that was idle may still ask, once', async () => {
    const { apiKey } = await tenant(muster);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ask = async (): Promise<{ status: number | undefined; connection: string | undefined; reused: boolean }> => {
      const sent = get(`${muster.api}/v1/apps`, { agent, headers: { authorization: `Bearer ${apiKey}` } });
      const [answer] = (await once(sent, 'response')) as [IncomingMessage];
      await text(answer);
      return { status: answer.statusCode, connection: answer.headers.connection, reused: sent.reusedSocket };
    };
    expect(await ask()).toMatchObject({ status: 200, connection: 'keep-alive', reused: false });
    await leaving();
    expect(await ask()).toEqual({ status: 200, connection: 'close', reused: true });
    expect(await ask()).toEqual({ status: 200, connection: 'close', reused: false });
    agent.destroy();
  });

  test('an answer that was under way ends its connection, too', async () => {
    const { apiKey } = await tenant(muster);
    await using client = await connectRaw(port(muster.api));
    await client.send(
      `POST /v1/apps HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${apiKey}\r\nContent-Length: 2\r\n\r\n{`,
    );
    await call(`${muster.api}/v1/apps`, { token: apiKey });
    await leaving();
    await client.send('}');
    const answer = await client.answer();
    expect([answer.status, header(answer, 'connection')]).toEqual([201, 'close']);
  });

  test('with a store of its own it still leads: a purge is out of the history within a minute (O10)', async () => {
    const { apiKey } = await tenant(muster);
    const config = `${muster.api}/v1/otel-config`;
    const body = { enabled: true, endpoint: 'https://otel.example.com', authHeader: 'secret' };
    await call(config, { method: 'PUT', token: apiKey, body });
    await leaving();
    expect((await call(config, { method: 'DELETE', token: apiKey })).status).toBe(200);
    await until(async () => {
      clock.advance(100);
      return (await call(`${muster.ops}/metrics`)).text.includes('\nmuster_compactions_total{result="done"} 1\n');
    });
    expect((await call(`${muster.ops}/readyz`)).text).toContain('draining');
  });

  test('a held poll stays held', async () => {
    const { apiKey } = await tenant(muster);
    const credential = await enroll(muster, await createApp(muster, apiKey));
    const etag = (await poll(muster, credential)).headers.get('etag') ?? '';
    const held = poll(muster, credential, { 'if-none-match': etag, prefer: 'wait=50' });
    await until(async () => (await call(`${muster.ops}/metrics`)).text.includes('muster_held_polls 1'));
    await leaving();
    await poll(muster, credential);
    expect((await call(`${muster.ops}/metrics`)).text).toContain('muster_held_polls 1');
    clock.advance(DELAY_SECONDS * 1000);
    expect((await held).status).toBe(304);
  });
});

test('afterwards it takes nothing more, and ends', async () => {
  const { stopped } = await leaving();
  clock.advance(DELAY_SECONDS * 1000 - 1);
  expect((await call(`${muster.api}/v1/apps`)).status).toBe(401);
  clock.advance(1);
  await stopped;
  expect(isListening(port(muster.api))).toBe(false);
});

test('after a fault there is no delay', async () => {
  expect(isListening(port(muster.api))).toBe(true);
  await muster.service.stop(true);
  expect(isListening(port(muster.api))).toBe(false);
});

const etcd = inject('etcd');
test.skipIf(etcd === undefined)('with others on its etcd it leads no more, so that one of them may', async () => {
  await muster.service.stop(true);
  const env = { MUSTER_DRAIN_DELAY_SECONDS: String(DELAY_SECONDS) };
  await using sharing = await etcdBackend(etcd ?? '').fresh({ clock, env });
  const leads = async (): Promise<boolean> =>
    (await call(`${sharing.ops}/metrics`)).text.includes('\nmuster_controller_leading 1\n');
  await until(leads);
  const stopped = sharing.service.stop();
  await until(async () => !(await leads()));
  expect((await call(`${sharing.ops}/readyz`)).text).toContain('draining');
  clock.advance(DELAY_SECONDS * 1000);
  await stopped;
});
