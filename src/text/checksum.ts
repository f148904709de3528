/**
 * The checksum of texts, one after the other: FNV-1a of 32 bits over their UTF-16 units, in hexadecimal. Pages and the
 * service compare with it what they have; against somebody who means to deceive it says nothing.
 */
export function checksumOf(texts: Iterable<string>): string {
  let sum = 0x811c9dc5;
  for (const text of texts) {
    for (let at = 0; at < text.length; at += 1) sum = Math.imul(sum ^ text.charCodeAt(at), 0x01000193);
  }
  return (sum >>> 0).toString(16).padStart(8, '0');
}
