import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { expect, onTestFinished, test, vi } from 'vitest';
import { OwedBytes } from '../../../src/api/http/pieces/owed-bytes.ts';
import { sendResponse } from '../../../src/api/http/response.ts';
import { CHECKS } from '../../../src/api/listener/progress.ts';
import { LIMITS } from '../../../src/domain/limits.ts';
import { makeCertificates } from '../../support/http/certificates.ts';
import { openTestListener, type TestListener } from '../../support/http/test-listener.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';

/* Clients that take an answer slowly, while the checks for progress go by. */

/** More than the kernels of both sides take for a client that reads nothing: a client that reads as much makes room. */
const STEP_BYTES = 40_000_000;
const STEPS = 3;
const BODY = Buffer.alloc(STEP_BYTES * STEPS, 'x');
const UNREAD_MS = 30_000;
const CHECK_MS = UNREAD_MS / CHECKS;
/** For a client that reads at the least speed, and had given the kernel as much to keep as it takes. */
const CHECKS_FOR_ALL = Math.ceil((LIMITS.kernelBytesPerConnectionMax / LIMITS.leastBytesPerSecond) * (1000 / CHECK_MS));

/** Turns of the event loop in which nothing was taken: the kernels have what they take. */
const TURNS_AT_REST = 200;

/** Only the checks wait for the test; everything else has real time. */
function holdChecks(): void {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
}

const { certificate: cert, key } = makeCertificates(scratchDirectory('slow-readers'));

const owed = new OwedBytes({ strangersMax: Number.MAX_SAFE_INTEGER, knownMax: 0 });
const open = (isTls: boolean): Promise<TestListener> =>
  openTestListener({
    ...(isTls && { tls: { cert, key } }),
    unreadAnswerMs: UNREAD_MS,
    handle: (request, response) => sendResponse(request, response, 200, [], BODY, owed),
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
])(
  '%s: one that takes nothing is not while it may still read what the kernel has, and is reset then',
  async (_scheme, isTls) => {
    holdChecks();
    await using service = await open(isTls);
    const socket = await ask(service.port, isTls);
    const { response } = await service.request(0);
    await take(socket, STEP_BYTES);
    // The kernels may still have room for a while, which counts as taken.
    for (let [turns, seen] = [0, '']; turns < TURNS_AT_REST; turns += 1) {
      await nextTurn();
      const now = `${response.writableLength} ${response.req.socket.bytesWritten}`;
      if (now !== seen) [turns, seen] = [0, now];
    }
    for (let check = 0; check < CHECKS_FOR_ALL; check += 1) vi.advanceTimersByTime(CHECK_MS);
    expect(response.req.socket.destroyed).toBe(false);
    for (let check = 0; check < CHECKS + 2; check += 1) vi.advanceTimersByTime(CHECK_MS);
    expect(response.req.socket.destroyed).toBe(true);
    const error = once(socket, 'error');
    socket.resume();
    expect((await error)[0]).toMatchObject({ code: 'ECONNRESET' });
    if (!response.closed) await once(response, 'close');
    expect(response.writableFinished).toBe(false);
  },
);
