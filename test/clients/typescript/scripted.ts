import { DeviceClient, MusterError, OperatorClient, OwnerClient, type RetryEvent } from '#client';
import { SimulatedWorld } from '../../support/time/simulated-world.ts';

/* The three clients in simulated time, before answers that a test writes. */

export type Answer = Response | Error | 'never';
export const APPS = '{"apps":[]}';
export const ok = (): Response => new Response(APPS);
export const refused = (status: number, code: string, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify({ error: { code, message: `It is ${code}.` } }), { status, headers });
/** As Node's fetch tells it. */
export const broken = (code: string): Error =>
  new TypeError('fetch failed', { cause: Object.assign(new Error('x'), { code }) });
export const brokenOff = (): Error => broken('ECONNRESET');

interface Setting {
  /** The answer to each request in its turn; the last one stays. */
  readonly answers: readonly (() => Answer)[];
  readonly random?: () => number;
  readonly timeoutMs?: number;
}

export function scripted({ answers, random = () => 0, timeoutMs }: Setting) {
  const world = new SimulatedWorld();
  const startedAt = world.now();
  const sent: { readonly at: number; readonly url: string; readonly init: RequestInit }[] = [];
  const events: RetryEvent[] = [];
  const fetch: typeof globalThis.fetch = async (url, init = {}) => {
    sent.push({ at: world.now() - startedAt, url: url instanceof Request ? url.url : url.toString(), init });
    const answer = (answers[sent.length - 1] ?? answers.at(-1) ?? ok)();
    if (answer === 'never') return await new Promise<never>(() => undefined);
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const onRetry = (event: RetryEvent): void => void events.push(event);
  const options = { url: 'http://service', fetch, timing: world, random, timeoutMs, onRetry };
  return {
    world,
    sent,
    events,
    elapsed: () => world.now() - startedAt,
    times: () => sent.map(({ at }) => at),
    owner: new OwnerClient({ ...options, apiKey: 'key' }),
    device: new DeviceClient({ ...options, credential: 'credential' }),
    operator: new OperatorClient({ ...options, token: 'token' }),
  };
}

export async function thrown(work: Promise<unknown>): Promise<MusterError> {
  const error = await work.then(
    () => new Error('nothing was thrown'),
    (error: unknown) => error,
  );
  if (error instanceof MusterError) return error;
  throw error;
}
