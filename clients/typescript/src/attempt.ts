import { aborted, invalidArgument, MusterError } from './errors.ts';
import { onAbort, type Timing } from './timing.ts';

/** One request as it is sent. */
export interface Sent {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

/** An answer of any status, with its whole body. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body where it was asked for as a stream, and the status is 200. */
  readonly stream?: ReadableStream<Uint8Array> | undefined;
}

interface AttemptOptions {
  readonly fetch: typeof fetch;
  readonly timing: Timing;
  readonly requestId: string;
  /** Milliseconds for the whole answer, or for the head of a stream. */
  readonly limitMs: number;
  /** Milliseconds for each next piece of a stream. */
  readonly pieceMs: number;
  readonly signal?: AbortSignal | undefined;
  readonly asStream?: boolean | undefined;
}

/** No answer but a stream is longer. */
const BODY_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Sends one request once.
 * @throws MusterError `network`, `timeout`, `aborted`, `bad_answer`; whatever `prepare` throws
 */
export async function attempt(prepare: () => Promise<Sent>, options: AttemptOptions): Promise<RawAnswer> {
  const { limitMs, requestId } = options;
  const bound = new Bound(options);
  bound.begin(limitMs, () => late(limitMs, requestId));
  try {
    const sent = await bound.within(prepare());
    const response = await bound.within(fetched(sent, options, bound.signal));
    refuseRedirect(response, requestId);
    const { status, headers } = response;
    if (options.asStream === true && status === 200) {
      return { status, headers, text: '', stream: streamed(response, bound, options) };
    }
    const text = await bound.within(textOf(response, requestId));
    bound.end();
    return { status, headers, text };
  } catch (error) {
    bound.end(error);
    throw error;
  }
}

/** Ends what goes on when the time is up or the caller's signal aborts, also where that takes no notice itself. */
class Bound {
  readonly #controller = new AbortController();
  readonly #options: AttemptOptions;
  readonly #ended: Promise<never>;
  #fail: (error: MusterError) => void = () => undefined;
  readonly #stopListening: () => void;
  #stopTimer = (): void => undefined;

  constructor(options: AttemptOptions) {
    this.#options = options;
    this.#ended = new Promise((_, reject) => (this.#fail = reject));
    // Nobody may be waiting at that moment.
    this.#ended.catch(() => undefined);
    this.#stopListening = onAbort(options.signal, this.#abort);
    if (options.signal?.aborted === true) this.#abort();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  begin(ms: number, error: () => MusterError): void {
    this.#stopTimer();
    this.#stopTimer = this.#options.timing.after(ms, () => this.#end(error()));
  }

  /** Nothing is awaited for now; the caller's signal still counts. */
  rest(): void {
    this.#stopTimer();
  }

  within<T>(work: Promise<T>): Promise<T> {
    work.catch(() => undefined);
    return Promise.race([this.#ended, work]);
  }

  /** @param error that ended the attempt: what is still under way of it is given up */
  end(error?: unknown): void {
    this.#stopTimer();
    this.#stopListening();
    if (error !== undefined) this.#controller.abort();
  }

  readonly #abort = (): void => {
    const { signal, requestId } = this.#options;
    if (signal) this.#end(aborted(signal, requestId));
  };

  #end(error: MusterError): void {
    this.end(error);
    this.#fail(error);
  }
}

async function fetched(sent: Sent, { fetch, requestId }: AttemptOptions, signal: AbortSignal): Promise<Response> {
  const { url, method, headers, body } = sent;
  const init = { method, headers, ...(body !== undefined && { body }), signal };
  try {
    // `manual`, so that a redirect is known as one and not sent again: `error` tells it as a broken connection.
    return await fetch(url, { ...init, redirect: 'manual', credentials: 'omit', cache: 'no-store' });
  } catch (error) {
    throw noAnswer(error, requestId);
  }
}

function refuseRedirect({ status, type }: Response, requestId: string): void {
  if (type !== 'opaqueredirect' && (status < 300 || status > 399 || status === 304)) return;
  throw new MusterError('The address redirects elsewhere, and the secret is not sent there.', {
    code: 'bad_answer',
    status,
    requestId,
  });
}

const late = (ms: number, requestId: string): MusterError =>
  new MusterError(`There was no answer within ${Math.round(ms)} ms.`, { code: 'timeout', requestId });
const stalled = (ms: number, requestId: string): MusterError =>
  new MusterError(`The answer stood still for ${Math.round(ms)} ms.`, { code: 'timeout', requestId });

/** What Node's `fetch` says of a port to which it sends nothing; it has no code for that. */
const BAD_PORT = 'bad port';

/** What OpenSSL says of an answer that is no TLS, such as that of a port for HTTP. */
const NO_TLS = 'wrong version number';

/** The words of `fetch` are mostly "fetch failed"; the code below says more. */
function noAnswer(error: unknown, requestId: string): MusterError {
  if (error instanceof MusterError) return error;
  const { code, message } = ((error as { cause?: unknown } | undefined)?.cause ?? {}) as Record<string, unknown>;
  if (message === BAD_PORT) return invalidArgument('`fetch` sends nothing to the port of the address.', error);
  if (typeof message === 'string' && message.includes(NO_TLS)) {
    const words = 'The port does not speak TLS: use http:// in place of https:// in the address.';
    return new MusterError(words, { code: 'bad_answer', requestId, cause: error });
  }
  const why = typeof code === 'string' ? ` (${code})` : '';
  return new MusterError(`The connection failed, or broke off${why}.`, { code: 'network', requestId, cause: error });
}

async function textOf(response: Response, requestId: string): Promise<string> {
  if (!response.body) return '';
  const reader = response.body.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for (;;) {
    const piece = await nextPiece(reader, requestId);
    if (piece === undefined) return text + decoder.decode();
    bytes += piece.length;
    if (bytes > BODY_BYTES_MAX) {
      reader.cancel().catch(() => undefined);
      throw new MusterError('The answer is larger than 64 MiB.', {
        code: 'bad_answer',
        status: response.status,
        requestId,
      });
    }
    text += decoder.decode(piece, { stream: true });
  }
}

async function nextPiece(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  requestId: string,
): Promise<Uint8Array | undefined> {
  try {
    const { done, value } = await reader.read();
    return done ? undefined : value;
  } catch (error) {
    throw noAnswer(error, requestId);
  }
}

/** The stream ends with a MusterError when it breaks off, stalls for too long, or the caller's signal aborts. */
function streamed(
  response: Response,
  bound: Bound,
  { pieceMs, requestId }: AttemptOptions,
): ReadableStream<Uint8Array> {
  const reader = response.body?.getReader() as ReadableStreamDefaultReader<Uint8Array> | undefined;
  if (!reader) throw new MusterError('The answer has no body.', { code: 'bad_answer', status: 200, requestId });
  bound.rest();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        bound.begin(pieceMs, () => stalled(pieceMs, requestId));
        try {
          const piece = await bound.within(nextPiece(reader, requestId));
          // The time that the taker needs for a piece is its own.
          bound.rest();
          if (piece) return controller.enqueue(piece);
          bound.end();
          controller.close();
        } catch (error) {
          bound.end(error);
          controller.error(error);
        }
      },
      async cancel(reason) {
        bound.end();
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
