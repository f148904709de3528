import { connect } from 'node:net';

/** A request as bytes, and the status that its answer must have. */
export interface Shot {
  readonly bytes: string | Buffer;
  readonly status: number;
}

/** @param connection its number, for callers that bind requests to a connection */
export type NextShot = (connection: number) => Shot;

/** A connection reads into the same memory again and again: a buffer for every piece would cost more than a server. */
const READ_BYTES = 64 * 1024;

export interface LoadResult {
  readonly requests: number;
  readonly perSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

/**
 * Runs a closed loop over keep-alive connections, one request in flight on each, written and read as bytes: it must
 * cost less than any server that it measures. Throws when an answer has another status than expected: a benchmark of
 * refusals is worthless.
 */
export async function load(port: number, connections: number, ms: number, next: NextShot): Promise<LoadResult> {
  const until = performance.now() + ms;
  const times: number[] = [];
  const startedAt = performance.now();
  const all = Array.from({ length: connections }, (_, number) => connection(port, until, () => next(number), times));
  await Promise.all(all);
  const seconds = (performance.now() - startedAt) / 1000;
  times.sort((a, b) => a - b);
  const at = (share: number): number => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
  return { requests: times.length, perSecond: times.length / seconds, p50: at(0.5), p99: at(0.99) };
}

function connection(port: number, until: number, next: () => Shot, times: number[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
    const callback = (bytes: number): boolean => {
      received(buffer.subarray(0, bytes));
      return true;
    };
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, onread: { buffer, callback } });
    let sentAt = 0;
    let expected = 0;
    let missing = 0;

    const shoot = (): void => {
      if (performance.now() >= until) {
        socket.end();
        resolve();
        return;
      }
      const shot = next();
      expected = shot.status;
      sentAt = performance.now();
      socket.write(shot.bytes);
    };
    const received = (chunk: Buffer): void => {
      if (missing === 0) {
        const status = Number(chunk.toString('latin1', 9, 12));
        if (status !== expected) {
          reject(new Error(`expected ${expected}, got: ${chunk.toString('utf8', 0, 600)}`));
          socket.destroy();
          return;
        }
        missing = answerLength(chunk);
      }
      missing -= chunk.length;
      if (missing > 0) return;
      times.push(performance.now() - sentAt);
      shoot();
    };
    socket.on('connect', shoot);
    socket.on('error', reject);
  });
}

/** The bytes of the whole answer. The head is small and comes in one piece; only the bytes of the rest are counted. */
function answerLength(chunk: Buffer): number {
  const end = chunk.indexOf('\r\n\r\n');
  const head = chunk.toString('latin1', 0, end);
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  return end + 4 + Number(length ?? 0);
}

export function request(method: string, path: string, headers: Record<string, string>, body = ''): string {
  const fields = {
    Host: 'bench',
    ...headers,
    ...(body !== '' && { 'Content-Length': String(Buffer.byteLength(body)) }),
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
}
