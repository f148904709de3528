import { CommandFault } from './exit.ts';
import type { Connection } from './service-address.ts';

/** Milliseconds, more than every deadline of the service: the longest is that of a verification. */
const RESPONSE_MS_MAX = 150_000;

interface RequestOptions {
  readonly method?: 'GET' | 'POST';
  readonly accept?: string;
  /** Ends the wait, and the reading of the response. */
  readonly signal?: AbortSignal;
}

/** The service refused the request, with the words of its answer. */
export class ServiceRefusal extends CommandFault {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/** The client of the running service's ops listener. Every method throws CommandFault that says what to do. */
export class ServiceClient {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async json<T>(path: string, options: RequestOptions = {}): Promise<T> {
    const response = await this.#send(path, { ...options, signal: AbortSignal.timeout(RESPONSE_MS_MAX) });
    return (await response.json().catch(() => this.#brokeOff())) as T;
  }

  async text(path: string, options: RequestOptions = {}): Promise<{ text: string; headers: Headers }> {
    const response = await this.#send(path, { ...options, signal: AbortSignal.timeout(RESPONSE_MS_MAX) });
    return { text: await response.text().catch(() => this.#brokeOff()), headers: response.headers };
  }

  /** Streams a response that has no bound in size or time. */
  async *stream(path: string, options: RequestOptions = {}): AsyncGenerator<Uint8Array, void> {
    const { body } = await this.#send(path, options);
    if (!body) return;
    try {
      yield* body as AsyncIterable<Uint8Array>;
    } catch {
      options.signal?.throwIfAborted();
      this.#brokeOff();
    }
  }

  async #send(path: string, { method = 'GET', accept, signal }: RequestOptions): Promise<Response> {
    const { url, token } = this.#connection;
    const headers = { authorization: `Bearer ${token.reveal()}`, ...(accept !== undefined && { accept }) };
    const request = { method, headers, redirect: 'error', ...(signal && { signal }) } as const;
    const response = await fetch(`${url}${path}`, request).catch((error: unknown) => {
      // A caller that gives up has a reason of its own.
      throw error instanceof CommandFault ? error : new CommandFault(unreachable(url, error));
    });
    if (response.ok) return response;
    throw new ServiceRefusal(await this.#refusalOf(response), response.status);
  }

  async #refusalOf(response: Response): Promise<string> {
    const { url } = this.#connection;
    const body = (await response.json().catch(() => undefined)) as { error?: { message?: unknown } } | undefined;
    const message = body?.error?.message;
    if (response.status === 401) {
      return `${url} does not know the operator token: set MUSTER_OPERATOR_TOKEN or MUSTER_OPERATOR_TOKEN_FILE.`;
    }
    if (typeof message === 'string') return `${url} answers ${response.status}: ${message}`;
    return `${url} answers ${response.status}, and not as Muster's ops listener does: check MUSTER_OPS_URL.`;
  }

  #brokeOff(): never {
    throw new CommandFault(`The connection to ${this.#connection.url} broke off; try again.`);
  }
}

/** Tells in words why there was no response. */
export function unreachable(url: string, error: unknown): string {
  const code = (((error as Error).cause ?? error) as NodeJS.ErrnoException).code;
  const why = code === 'ECONNREFUSED' ? 'nothing listens there' : (code ?? (error as Error).name);
  return `The service at ${url} cannot be reached (${why}): start it, or set MUSTER_OPS_URL.`;
}
