import { lookup } from 'node:dns/promises';
import { serialExecutor } from '../../concurrency/serial.ts';
import { LIMITS } from '../limits.ts';
import { Busy } from '../refusal.ts';

/** Looks up all addresses of a name. @throws Error with the code of the system's resolver */
export type Resolve = (name: string) => Promise<readonly string[]>;

/** As the system resolves names, with its hosts file and search list, like every other program of this machine. */
export const systemResolve: Resolve = async (name) =>
  (await lookup(name, { all: true })).map(({ address }) => address).slice(0, LIMITS.egressAddressesMax);

/** As `Resolve`, no longer than until the signal. @throws the signal's reason; Busy where other names came first */
export type ResolveInTurn = (name: string, signal: AbortSignal) => Promise<readonly string[]>;

/**
 * Looks up one name after the other. A name whose name server an owner has made slow holds a thread for many seconds,
 * and libuv gives half of its four to lookups, by which etcd's own name is found, too.
 */
export function oneByOne(resolve: Resolve): ResolveInTurn {
  const inTurn = serialExecutor();
  return async (name, signal) => {
    signal.throwIfAborted();
    const { promise, resolve: found, reject } = Promise.withResolvers<readonly string[]>();
    let begun = false;
    const ended = (): void =>
      reject(begun ? (signal.reason as Error) : new Busy('queue_full', 'Other names are being looked up.'));
    signal.addEventListener('abort', ended, { once: true });
    void inTurn(async () => {
      if (signal.aborted) return;
      begun = true;
      await resolve(name).then(found, reject);
    });
    try {
      return await promise;
    } finally {
      signal.removeEventListener('abort', ended);
    }
  };
}
