import type { Address } from './address.ts';
import { fetchByCertificate } from './own-certificate.ts';

/**
 * `fetch` for an address. One that somebody keeps while a service listens there is asked so long only: once that is over,
 * whoever takes the port would be sent the secret, so it is a refused connection then, until the service is back.
 */
export function fetchTo({ isThere, certificateFile }: Pick<Address, 'isThere' | 'certificateFile'>): typeof fetch {
  const own = certificateFile === undefined ? fetch : fetchByCertificate(certificateFile);
  if (!isThere) return own;
  return async (input, init) => {
    if (isThere()) return await own(input, init);
    throw new TypeError('fetch failed', {
      cause: Object.assign(new Error('nobody keeps it'), { code: 'ECONNREFUSED' }),
    });
  };
}
