import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync } from 'node:zlib';

/** The content encodings that a request's body may have. */
export type Encoding = 'identity' | 'gzip' | 'deflate' | 'br';

const ENCODINGS = new Map<string, Encoding>([
  ['', 'identity'],
  ['identity', 'identity'],
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
  ['br', 'br'],
]);

/** The encoding that a Content-Encoding header names; undefined for an unknown one and for several at once (H7). */
export function encodingOf(header: string | undefined): Encoding | undefined {
  return header === undefined ? 'identity' : ENCODINGS.get(header.trim().toLowerCase());
}

/**
 * Inflates a body that has arrived whole and is therefore small. Memory never holds more than `bytesMax` inflated bytes
 * and one step of the decoder, whatever the body would grow to (H7).
 * @returns `corrupt` for a body that is truncated, malformed, or followed by anything else
 */
export function inflate(
  raw: Buffer,
  encoding: Exclude<Encoding, 'identity'>,
  bytesMax: number,
): Buffer | 'too_large' | 'corrupt' {
  try {
    const { buffer, engine } = inflateSyncWithInfo(raw, encoding, { info: true, maxOutputLength: bytesMax });
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

// Synchronous: 64 KiB take well below a millisecond, less than the way to the thread pool and back would cost.
function inflateSyncWithInfo(
  raw: Buffer,
  encoding: Exclude<Encoding, 'identity'>,
  options: { info: true; maxOutputLength: number },
): Inflated {
  // The types leave `info` without effect on the result.
  if (encoding === 'gzip') return gunzipSync(raw, options) as unknown as Inflated;
  if (encoding === 'br') return brotliDecompressSync(raw, options) as unknown as Inflated;
  const inflateDeflate = hasZlibHeader(raw) ? inflateSync : inflateRawSync;
  return inflateDeflate(raw, options) as unknown as Inflated;
}

// RFC 9110, 8.4.1.2: "deflate" is the zlib format, and some clients send it bare. RFC 1950, 2.2: method 8, check bits.
function hasZlibHeader(raw: Buffer): boolean {
  return raw.length >= 2 && ((raw[0] ?? 0) & 0x0f) === 8 && raw.readUInt16BE(0) % 31 === 0;
}
