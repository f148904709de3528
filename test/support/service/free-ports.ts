import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import process from 'node:process';

/*
 * Below the ports that Linux gives to outgoing connections by default (from 32,768 on): one of these could take a port
 * between this look and the start of the program that it is for. Apart from the kubelet's (10,248 to 10,259) and those
 * of Kubernetes' node ports (from 30,000 on), which a redirection can hold without a listener.
 */
const FIRST = 11_000;
const RANGES = 190;
const RANGE = 100;

/*
 * Each process has ranges of its own: it listens on the first port of one until it ends. Otherwise another process
 * could take the port of a program that was stopped and is to start again.
 */
const ranges: Server[] = [];
let next = 0;
let end = 0;
let looked = process.pid % RANGES;

async function takeRange(): Promise<void> {
  for (let looks = 0; looks < RANGES; looks += 1) {
    const first = FIRST + looked * RANGE;
    looked = (looked + 1) % RANGES;
    const server = createServer();
    if (!(await listens(server, first, '127.0.0.1'))) continue;
    ranges.push(server.unref());
    next = first + 1;
    end = first + RANGE;
    return;
  }
  throw new Error('every range of ports has its process');
}

/** Ports of an address of this machine that are free now. None is given twice in a process. */
export async function freePorts(count: number, address = '127.0.0.1'): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) {
    if (next === end) await takeRange();
    const port = next;
    next += 1;
    const server = createServer();
    if (!(await listens(server, port, address))) continue;
    await once(server.close(), 'close');
    ports.push(port);
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
