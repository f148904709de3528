import { LossyProxy } from '../http/lossy-proxy.ts';

/** A proxy before `/v1` behind which one app of a create of many fails each time, whichever command tries it. */
export async function failingCreate(target: string, number: number): Promise<LossyProxy> {
  const proxy = await LossyProxy.before(target);
  proxy.fate = ({ headers }) => (String(headers['idempotency-key']).endsWith(`-${number}`) ? 502 : 'through');
  // Longer than a call may take: the client gives up at once.
  proxy.retryAfterSeconds = 61;
  return proxy;
}
