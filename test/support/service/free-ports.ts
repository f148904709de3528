import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';

/** Ports of an address of this machine that are free now. Held all at once, so that none is given twice. */
export async function freePorts(count: number, address = '127.0.0.1'): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, address));
  await Promise.all(servers.map(async (server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map(async (server) => once(server.close(), 'close')));
  return ports;
}
