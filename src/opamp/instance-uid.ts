import { randomUUIDv7 } from 'node:crypto';

/** An id for an instance that has none: UUID version 7 (RFC 9562, 5.7). */
export const newInstanceUid = (): Uint8Array => Buffer.from(randomUUIDv7().replaceAll('-', ''), 'hex');
