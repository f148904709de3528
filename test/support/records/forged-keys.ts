import { crc32 } from 'node:zlib';
import { BASE62 } from '../../../src/domain/credentials/random-ids.ts';

/** A well-formed API key with the id of this one, and another secret. */
export function forgedKey(apiKey: string): string {
  const body = `${apiKey.slice(0, -49)}${'A'.repeat(43)}`;
  let rest = crc32(body);
  let checksum = '';
  for (let digit = 0; digit < 6; digit += 1) {
    checksum = BASE62.charAt(rest % 62) + checksum;
    rest = Math.floor(rest / 62);
  }
  return body + checksum;
}
