import { gunzip, inflate as inflateZlib, inflateRaw, type InputType, type ZlibOptions } from 'node:zlib';
import { FairQueue } from '../../concurrency/fair-queue.ts';
import { Busy } from '../../domain/refusal.ts';

/** The content encodings that a request's body may have. */
export type Encoding = 'identity' | 'gzip' | 'deflate';

// Not `br`: its decoder fills a window of up to 16 MiB, for a body of 27 bytes (H7).
const ENCODINGS = new Map<string, Encoding>([
  ['', 'identity'],
  ['identity', 'identity'],
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
]);

/** The encoding that a Content-Encoding header names; undefined for an unknown one and for several at once (H7). */
export function encodingOf(header: string | undefined): Encoding | undefined {
  return header === undefined ? 'identity' : ENCODINGS.get(header.trim().toLowerCase());
}

/**
 * Bodies of one account that wait to be inflated. The costliest body of 64 KiB takes about 10 ms, so that an account
 * waits for itself 2.6 s at most, and no longer for another one than for one body.
 */
export const INFLATING_MAX = 256;

/** Compressed bodies that wait for their turn, within bounds of their number and of their bytes. */
export class InflateQueue {
  readonly turns: FairQueue;
  readonly #bytesMax: number;
  #bytes = 0;

  /**
   * @param waitingMax the bodies of one principal
   * @param bytesMax of all bodies together
   */
  constructor(waitingMax: number, bytesMax: number) {
    this.turns = new FairQueue(waitingMax);
    this.#bytesMax = bytesMax;
  }

  /** Counts the bytes of a body. @returns to be called when it has had its turn; undefined where there is no room */
  enter(bytes: number): (() => void) | undefined {
    if (this.#bytes + bytes > this.#bytesMax) return undefined;
    this.#bytes += bytes;
    return () => {
      this.#bytes -= bytes;
    };
  }
}

/** Bodies of 64 KiB at most: their number bounds them. */
const inflating = new InflateQueue(INFLATING_MAX, Number.POSITIVE_INFINITY);

/**
 * Inflates a body that has arrived whole and is therefore small. Memory never holds more than `bytesMax` inflated bytes
 * and one step of the decoder, whatever the body would grow to (H7).
 *
 * A body may be nothing but the headers of blocks that hold no byte; the decoder makes its tables anew for each, 64 KiB
 * of them take 10 ms, and what is inflated says nothing of it. So the work is done beside the event loop, and one body
 * at a time, which leaves the other threads of the pool to those who look up names and read files.
 * @param principal whom the body is inflated for; each has its turn
 * @returns `corrupt` for a body that is truncated, malformed, or followed by anything else; `too_many` where the bodies
 * that wait have as many bytes as they may
 * @throws Busy `queue_full` where as many bodies of the principal wait as may: `INFLATING_MAX` without a queue of its
 * own
 */
export async function inflate(
  raw: Buffer,
  encoding: Exclude<Encoding, 'identity'>,
  {
    bytesMax,
    principal,
    queue = inflating,
  }: { readonly bytesMax: number; readonly principal: string; readonly queue?: InflateQueue | undefined },
): Promise<Buffer | 'too_large' | 'too_many' | 'corrupt'> {
  const leave = queue.enter(raw.length);
  if (!leave) return 'too_many';
  const begun = queue.turns.tryRun(principal, () => inflated(raw, encoding, bytesMax));
  if (begun === undefined) {
    leave();
    throw new Busy('queue_full', 'Too many bodies wait to be decompressed.');
  }
  try {
    const { buffer, engine } = await begun;
    // zlib stops at the end of its stream and says nothing of what follows.
    return engine.bytesWritten === raw.length ? buffer : 'corrupt';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? 'too_large' : 'corrupt';
  } finally {
    leave();
  }
}

interface Inflated {
  readonly buffer: Buffer;
  readonly engine: { readonly bytesWritten: number };
}

type Decoder = (raw: InputType, options: ZlibOptions, done: (error: Error | null, result: Buffer) => void) => void;

function inflated(raw: Buffer, encoding: Exclude<Encoding, 'identity'>, bytesMax: number): Promise<Inflated> {
  const decoder: Decoder = encoding === 'gzip' ? gunzip : hasZlibHeader(raw) ? inflateZlib : inflateRaw;
  return new Promise((resolve, reject) => {
    decoder(raw, { info: true, maxOutputLength: bytesMax }, (error, result) => {
      // The types leave `info` without effect on the result.
      if (error === null) resolve(result as unknown as Inflated);
      else reject(error);
    });
  });
}

// RFC 9110, 8.4.1.2: "deflate" is the zlib format, and some clients send it bare. RFC 1950, 2.2: method 8, check bits.
function hasZlibHeader(raw: Buffer): boolean {
  return raw.length >= 2 && ((raw[0] ?? 0) & 0x0f) === 8 && raw.readUInt16BE(0) % 31 === 0;
}
