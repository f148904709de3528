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

const inflating = new FairQueue(INFLATING_MAX);

/**
 * Inflates a body that has arrived whole and is therefore small. Memory never holds more than `bytesMax` inflated bytes
 * and one step of the decoder, whatever the body would grow to (H7).
 *
 * A body may be nothing but the headers of blocks that hold no byte; the decoder makes its tables anew for each, 64 KiB
 * of them take 10 ms, and what is inflated says nothing of it. So the work is done beside the event loop, and one body
 * at a time, which leaves the other threads of the pool to those who look up names and read files.
 * @param principal whom the body is inflated for; each has its turn
 * @returns `corrupt` for a body that is truncated, malformed, or followed by anything else
 * @throws Busy `queue_full` where `INFLATING_MAX` bodies of the principal are waiting
 */
export async function inflate(
  raw: Buffer,
  encoding: Exclude<Encoding, 'identity'>,
  { bytesMax, principal }: { readonly bytesMax: number; readonly principal: string },
): Promise<Buffer | 'too_large' | 'corrupt'> {
  const begun = inflating.tryRun(principal, () => inflated(raw, encoding, bytesMax));
  if (begun === undefined) throw new Busy('queue_full', 'Too many bodies wait to be decompressed.');
  try {
    const { buffer, engine } = await begun;
    // zlib stops at the end of its stream and says nothing of what follows.
    return engine.bytesWritten === raw.length ? buffer : 'corrupt';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? 'too_large' : 'corrupt';
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
