import { Server } from 'node:net';
import process from 'node:process';

/**
 * Whether a server of this process listens on the port. A connection tells it only while the port is taken: once it is
 * given back, a process beside this one may get it, and answer there.
 */
export function isListening(port: number): boolean {
  const handles = (process as unknown as Record<'_getActiveHandles', () => object[]>)['_getActiveHandles']();
  return handles.some((handle) => {
    const address = handle instanceof Server ? handle.address() : null;
    return typeof address === 'object' && address?.port === port;
  });
}
