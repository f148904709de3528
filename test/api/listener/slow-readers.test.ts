import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { expect, onTestFinished, test, vi } from 'vitest';
import { sendResponse } from '../../../src/api/http/response.ts';
import { makeCertificates } from '../../support/http/certificates.ts';
import { openTestListener, type TestListener } from '../../support/http/test-listener.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';

/* Clients that take an answer slowly, while the checks for progress go by. */

/** More than the kernels of both sides take for a client that reads nothing: a client that reads as much makes room. */
const STEP_BYTES = 40_000_000;
const STEPS = 3;
const BODY = Buffer.alloc(STEP_BYTES * STEPS, 'x');
const CHECK_MS = 30_000;

/** Only the checks wait for the test; everything else has real time. */
function holdChecks(): void {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
}

const { certificate: cert, key } = makeCertificates(scratchDirectory('slow-readers'));

const open = (isTls: boolean): Promise<TestListener> =>
  openTestListener({
    ...(isTls && { tls: { cert, key } }),
    unreadAnswerMs: CHECK_MS,
    handle: (request, response) => sendResponse(request, response, 200, [], BODY),
  });

async function ask(port: number, isTls: boolean): Promise<Socket> {
  const to = { port, host: '127.0.0.1' };
  const socket = isTls ? connectTls({ ...to, rejectUnauthorized: false }) : connect(to);
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined);
  await once(socket, isTls ? 'secureConnect' : 'connect');
  socket.pause();
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  return socket;
}

async function take(socket: Socket, bytes: number): Promise<void> {
  let taken = 0;
  socket.resume();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const ended = (): void => reject(new Error(`cut off after ${taken} bytes`));
  const more = (chunk: Buffer): void => {
    taken += chunk.length;
    if (taken >= bytes) resolve();
  };
  socket.on('data', more).once('close', ended);
  await promise;
  socket.off('data', more).off('close', ended).pause();
}

test.each([
  ['HTTP', false],
  ['HTTPS', true],
])('%s: a client that takes some of its answer between two checks is not cut off', async (_scheme, isTls) => {
  holdChecks();
  await using service = await open(isTls);
  const socket = await ask(service.port, isTls);
  const { response } = await service.request(0);
  const closed = once(response, 'close');
  vi.advanceTimersByTime(CHECK_MS);
  for (let step = 1; step < STEPS; step += 1) {
    await take(socket, STEP_BYTES);
    vi.advanceTimersByTime(CHECK_MS);
  }
  socket.resume();
  await closed;
  expect(response.writableFinished).toBe(true);
});

test.each([
  ['HTTP', false],
  ['HTTPS', true],
])('%s: one that takes nothing between two checks is, though it took some before', async (_scheme, isTls) => {
  holdChecks();
  await using service = await open(isTls);
  const socket = await ask(service.port, isTls);
  const { response } = await service.request(0);
  await take(socket, STEP_BYTES);
  // The kernels may still have room for a while, which counts as taken.
  while (!response.closed) {
    vi.advanceTimersByTime(CHECK_MS);
    await nextTurn();
  }
  expect(response.writableFinished).toBe(false);
});
