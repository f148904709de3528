import { connect, type Socket } from 'node:net';
import type { Target } from '../stage.ts';

/** What a test may ask of an attacker, beside the target. */
export interface AttackArgs extends Target {
  readonly listener: 'api' | 'device' | 'ops' | 'panel';
  /**
   * They are asked for in turns; an empty list stands for every operation that reads and every file of the listener.
   */
  readonly paths: readonly string[];
  readonly connections: number;
  /** The listener speaks TLS. */
  readonly tls: boolean;
  /** Answers are read after all, and must be 200. */
  readonly reads?: boolean;
  /** Requests behind each held one. */
  readonly pipelined: number;
}

/** The arguments of an attacker's process: the target, and what its test adds. */
export function args(): AttackArgs {
  return JSON.parse(process.argv[2] ?? '{}') as AttackArgs;
}

/** Tells the test that the attack is in place, with figures for its line. */
export function inPlace(figures: object = {}): void {
  process.stdout.write(`${JSON.stringify(figures)}\n`);
}

/**
 * A connection that sends and reads nothing by itself. What breaks it is no error: attackers are cut off.
 * @returns once it is open, or has failed
 */
export async function open(port: number, { reads = false } = {}): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  socket.on('error', () => undefined);
  if (reads) socket.resume();
  else socket.pause();
  await new Promise<void>((resolve) => socket.once('connect', () => resolve()).once('close', () => resolve()));
  return socket;
}

/** Opens that many connections, a few at a time. @param use is called for each, and called anew once it broke */
export async function openMany(port: number, count: number, use: (socket: Socket) => void): Promise<void> {
  const one = async (): Promise<void> => {
    const socket = await open(port, { reads: true });
    // An attacker whose connection is closed comes again, a little later.
    socket.once('close', () => void setTimeout(() => void one(), 1000));
    if (!socket.destroyed) use(socket);
  };
  for (let opened = 0; opened < count; opened += 20) {
    await Promise.all(Array.from({ length: Math.min(20, count - opened) }, one));
  }
}

/** Writes the bytes again and again, whenever the kernel takes more, until the connection ends. */
export function flood(socket: Socket, bytes: string): void {
  const more = (): void => {
    while (!socket.destroyed && socket.write(bytes));
  };
  socket.on('drain', more);
  more();
}
