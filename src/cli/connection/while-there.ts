import type { Address } from './address.ts';

/**
 * `fetch` for an address that somebody keeps while a service listens there. Once that is over, whoever takes the port
 * would be sent the secret: it is a refused connection then, until the service is back.
 */
export function whileThere({ isThere }: Pick<Address, 'isThere'>): typeof fetch {
  if (!isThere) return fetch;
  return async (input, init) => {
    if (isThere()) return await fetch(input, init);
    throw new TypeError('fetch failed', {
      cause: Object.assign(new Error('nobody keeps it'), { code: 'ECONNREFUSED' }),
    });
  };
}
