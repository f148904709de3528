import { request as overHttp, type Agent, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as overTls, type RequestOptions } from 'node:https';
import { Readable } from 'node:stream';
import { TLSSocket } from 'node:tls';

/** Statuses of a response that never has a body (WHATWG fetch, null body status). */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);

/** The parts of a request that Node's own client decides, and its `fetch` does not let be decided. */
type Choice = RequestOptions & {
  readonly agent: Agent;
  /**
   * Called once the connection is made, TLS included, and before a byte of the request is sent. The agent keeps no
   * connection: one that is used again is never made.
   */
  readonly beforeSending?: () => Promise<void>;
};

/**
 * A request as `fetch` makes it, by Node's own HTTP client: over an agent, and with certificates, of the caller's
 * choice. No redirect is followed: it is the answer, or, where the caller says `error`, a failure.
 * @throws TypeError `fetch failed` with the cause, as `fetch` does; the reason of the signal; what `beforeSending`
 *   throws, and then nothing is sent
 */
export async function fetchBy(
  { beforeSending, ...choice }: Choice,
  ...[input, init]: Parameters<typeof fetch>
): Promise<Response> {
  const asked = new Request(input, { ...init, signal: null });
  const body = asked.body === null ? undefined : Buffer.from(await asked.arrayBuffer());
  const signal = init?.signal ?? undefined;
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const sent = (asked.url.startsWith('https:') ? overTls : overHttp)(asked.url, {
    ...choice,
    method: asked.method,
    headers: Object.fromEntries(asked.headers),
    ...(signal && { signal }),
  });
  // A request that waits for a tunnel through a proxy does not hear of its signal.
  const aborted = (): void => reject(signal?.reason as Error);
  signal?.addEventListener('abort', aborted, { once: true });
  sent.once('close', () => {
    signal?.removeEventListener('abort', aborted);
    // A connection that ends by another protocol (101) has neither an answer nor an error.
    reject(new TypeError('fetch failed', { cause: new Error('the connection was closed') }));
  });
  sent.once('response', (answer) => {
    const isRefused = asked.redirect === 'error' && answer.headers.location !== undefined;
    try {
      if (isRefused) throw new Error('unexpected redirect');
      resolve(responseOf(answer));
    } catch (cause) {
      // What Node reads may be no Response: a status of 999, or words with control characters. Nobody else catches it.
      answer.destroy();
      reject(new TypeError('fetch failed', { cause }));
    }
  });
  sent.once('error', (error) => {
    reject(signal?.aborted ? (signal.reason as Error) : new TypeError('fetch failed', { cause: error }));
  });
  if (beforeSending) {
    onceConnected(sent, () => {
      beforeSending().then(
        () => sent.destroyed || sent.end(body),
        (error: unknown) => {
          reject(error);
          sent.destroy();
        },
      );
    });
  } else {
    sent.end(body);
  }
  return await promise;
}

/** Calls back when the new connection of a request is made. Until `end`, Node's client keeps all of the request. */
function onceConnected(sent: ClientRequest, act: () => void): void {
  sent.once('socket', (socket) => {
    // A tunnel through a proxy is given when its TLS is made, and every other connection while it is being made.
    if (socket instanceof TLSSocket && socket.authorized) return act();
    socket.once(socket instanceof TLSSocket ? 'secureConnect' : 'connect', act);
  });
}

function responseOf(answer: IncomingMessage): Response {
  const { statusCode: status = 0, statusMessage: statusText = '', headersDistinct } = answer;
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(headersDistinct)) {
    for (const value of values) headers.append(name, value);
  }
  if (!BODILESS.has(status)) return new Response(Readable.toWeb(answer), { status, statusText, headers });
  answer.resume();
  return new Response(null, { status, statusText, headers });
}
