import type { SimulatedWorld } from '../time/simulated-world.ts';
import type { LossyProxy } from './lossy-proxy.ts';

/**
 * A `fetch` of real requests in a simulated world, whose time stands still until each has its whole answer. Where the
 * proxy answers one with nothing, its time passes.
 */
export function fetchIn(world: SimulatedWorld, proxy?: LossyProxy): typeof fetch {
  const hung = new Map<string, () => void>();
  if (proxy) proxy.hung = (requestId) => hung.get(requestId)?.();
  return async (url, init) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    hung.set(new Headers(init?.headers).get('x-request-id') ?? '', resolve);
    const answer = whole(url, init);
    await world.real(Promise.race([answer.catch(() => undefined), promise]));
    return await answer;
  };
}

async function whole(...request: Parameters<typeof fetch>): Promise<Response> {
  const response = await fetch(...request);
  const body = await response.arrayBuffer();
  const { status, headers } = response;
  return new Response(body.byteLength > 0 ? body : null, { status, headers });
}
