import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import process from 'node:process';

/*
 * Below the ports that Linux gives to outgoing connections by default (from 32,768 on): one of these could take a port
 * between this look and the start of the program that it is for. Apart from the kubelet's (10,248 to 10,259) and those of
 * Kubernetes' node ports (from 30,000 on), which a redirection can hold without a listener.
 */
const FIRST = 11_000;
const RANGES = 190;
/** Each process looks in a range of its own first, so that two hardly ever find the same port. */
const RANGE = 100;
const PORTS = RANGES * RANGE;

let next = (process.pid % RANGES) * RANGE;

/** Ports of an address of this machine that are free now. Held all at once, so that none is given twice. */
export async function freePorts(count: number, address = '127.0.0.1'): Promise<number[]> {
  const servers: Server[] = [];
  const ports: number[] = [];
  try {
    for (let looks = 0; ports.length < count; looks += 1) {
      if (looks === PORTS) throw new Error(`${address} has no ${count} free ports`);
      const port = FIRST + next;
      next = (next + 1) % PORTS;
      const server = createServer();
      if (!(await listens(server, port, address))) continue;
      servers.push(server);
      ports.push(port);
    }
  } finally {
    await Promise.all(servers.map(async (server) => once(server.close(), 'close')));
  }
  return ports;
}

async function listens(server: Server, port: number, address: string): Promise<boolean> {
  try {
    await once(server.listen(port, address), 'listening');
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') return false;
    throw error;
  }
}
