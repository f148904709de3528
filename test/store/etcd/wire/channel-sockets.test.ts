import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { ChannelSockets } from '../../../../src/store/etcd/wire/channel-sockets.ts';

/* What grpc-js does not tell while it tries again: why no connection comes to stand. */

test('a refused attempt is the trouble until one succeeds, and one that is given up is none', async () => {
  const sockets = new ChannelSockets();
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const address = { host: '127.0.0.1', port };
  expect(sockets.trouble).toBeUndefined();

  server.close();
  await once(server, 'close');
  await expect(sockets.connect(address)).rejects.toThrow('ECONNREFUSED');
  expect(sockets.trouble).toBe(`connect ECONNREFUSED 127.0.0.1:${port}`);

  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  await sockets.connect(address);
  expect(sockets.trouble).toBeUndefined();

  const attempt = sockets.connect(address);
  sockets.end();
  await expect(attempt).rejects.toThrow();
  expect(sockets.trouble).toBeUndefined();
  server.close();
});
