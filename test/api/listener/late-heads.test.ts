import { expect, test, vi } from 'vitest';
import { OWED_MAX } from '../../../src/api/listener/connection.ts';
import { connectRaw } from '../../support/http/raw-http.ts';
import { echo, endPatience, openTestListener, ownTime, PATIENT } from '../../support/http/test-listener.ts';
import { until } from '../../support/time/until.ts';

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
const HEAD = 'GET /late HTTP/1.1\r\nHo';
const REST = 'st: a\r\n\r\n';

/**
 * A client that pipelines more than is read, and then half a head, while its first request is not answered; it goes on
 * once another client's head has been refused, which was begun later.
 */
async function behindOwed() {
  ownTime();
  const opened = new AsyncDisposableStack();
  const first = Promise.withResolvers<void>();
  const service = opened.use(
    await openTestListener({
      ...PATIENT,
      handle(request, response) {
        if (request.url === '/first') void first.promise.then(() => echo(request, response));
        else echo(request, response);
      },
    }),
  );
  const client = opened.use(await connectRaw(service.port));
  await client.send(get('/first') + get('/next').repeat(OWED_MAX) + HEAD);
  const { request } = await service.request(0);
  await until(() => request.socket.isPaused());
  endPatience(request);
  const other = opened.use(await connectRaw(service.port));
  await other.send(HEAD);
  expect((await other.answer()).status).toBe(404);
  return { client, release: first.resolve, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

const answers = async (client: Awaited<ReturnType<typeof behindOwed>>['client'], count: number): Promise<string[]> => {
  const bodies: string[] = [];
  while (bodies.length < count) bodies.push((await client.answer()).body);
  return bodies;
};

test('a head that was not read in time, since much was owed, is no late one', async () => {
  await using slow = await behindOwed();
  slow.release();
  await slow.client.send(REST);
  const bodies = await answers(slow.client, OWED_MAX + 2);
  expect([bodies[0], bodies.at(-1)]).toEqual(['GET /first', 'GET /late']);
});

test('it is late where it does not come in its time from then on, either', async () => {
  await using slow = await behindOwed();
  slow.release();
  await answers(slow.client, OWED_MAX + 1);
  vi.advanceTimersByTime(PATIENT.headerTimeoutMs);
  expect(await slow.client.rest()).toMatch(/^HTTP\/1\.1 404 /);
});
