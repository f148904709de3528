/**
 * An id for an instance that has none: UUID version 7 (RFC 9562, 5.7).
 * @param randomBytes of cryptographic quality
 * @param now in milliseconds since 1970
 */
export function newInstanceUid(randomBytes: (count: number) => Uint8Array, now: number): Uint8Array {
  const uid = Uint8Array.from(randomBytes(16));
  const view = new DataView(uid.buffer);
  view.setUint16(0, Math.floor(now / 2 ** 32));
  view.setUint32(2, now % 2 ** 32);
  view.setUint8(6, (view.getUint8(6) & 0x0f) | 0x70);
  view.setUint8(8, (view.getUint8(8) & 0x3f) | 0x80);
  return uid;
}
