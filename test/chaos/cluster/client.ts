import { randomUUID } from 'node:crypto';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import type { Addresses } from '../../support/service/muster-process.ts';
import type { Call, Facts, Kind, Recorder } from '../judgement/history.ts';

type Plane = keyof Addresses;

/** A request, and the parts of it that the history keeps. */
export interface Asked {
  readonly kind: Kind;
  readonly plane: Plane;
  readonly method: string;
  readonly path: string;
  readonly token?: string;
  /** The session of a browser, which sends it to the panel as a cookie. */
  readonly session?: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly facts: Facts;
  /** Reads the facts of an answer that is a success. */
  readonly learn?: (body: Readonly<Record<string, unknown>>) => Facts;
}

export interface Reply extends Call {
  readonly body: Readonly<Record<string, unknown>>;
  readonly etag: string;
}

/** The addresses of the replicas; undefined for one that is down. */
export interface Replicas {
  addresses(replica: number): Addresses | undefined;
}

/** Longer than any answer takes, so that it is the service that is measured. */
const GIVEN_UP_MS = 12_000;
/**
 * Shorter than a replica's limit for idle connections: a request that crosses their end would look like a broken one.
 */
const IDLE_MS = 2000;
const MARKER = /marker[0-9a-f]{12}/g;

interface Raw {
  readonly status: number;
  readonly text: string;
  readonly retryAfter: boolean;
  readonly etag: string;
}

/** Speaks to a replica over HTTP and writes down what was said. */
export class Client {
  readonly #name: string;
  readonly #replicas: Replicas;
  readonly #recorder: Recorder;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64, timeout: IDLE_MS });

  constructor(name: string, replicas: Replicas, recorder: Recorder) {
    this.#name = name;
    this.#replicas = replicas;
    this.#recorder = recorder;
  }

  /** Never throws: a request without an answer has the status 0. */
  async send(replica: number, asked: Asked): Promise<Reply> {
    const requestId = randomUUID();
    const start = this.#recorder.now();
    const raw = await this.#raw(replica, asked, requestId).catch((error: unknown) => failureOf(error));
    const end = this.#recorder.now();
    const answered = typeof raw === 'string' ? { status: 0, text: '', retryAfter: false, etag: '' } : raw;
    const body = parsed(answered.text);
    const call: Call = {
      client: this.#name,
      kind: asked.kind,
      replica,
      start,
      end,
      requestId,
      asked: asked.facts,
      told: answered.status >= 200 && answered.status < 300 ? (asked.learn?.(body) ?? {}) : {},
      status: answered.status,
      code: codeOf(answered.status, body),
      retryAfter: answered.retryAfter,
      markers: [...new Set(answered.text.match(MARKER))],
      ...(typeof raw === 'string' && { failure: raw }),
    };
    this.#recorder.calls.push(call);
    return { ...call, body, etag: answered.etag };
  }

  close(): void {
    this.#agent.destroy();
  }

  #raw(
    replica: number,
    { plane, method, path, token, session, body, headers }: Asked,
    requestId: string,
  ): Promise<Raw> {
    const base = this.#replicas.addresses(replica)?.[plane];
    if (base === undefined) return Promise.reject(new Error('ECONNREFUSED'));
    const { promise, resolve, reject } = Promise.withResolvers<Raw>();
    const text = body === undefined ? '' : JSON.stringify(body);
    const outgoing = httpRequest(`${base}${path}`, {
      method,
      agent: this.#agent,
      headers: {
        'X-Request-Id': requestId,
        'Content-Length': Buffer.byteLength(text),
        ...(token !== undefined && { Authorization: `Bearer ${token}` }),
        ...(session !== undefined && browserHeaders(new URL(base), session)),
        ...headers,
      },
    });
    const patience = setTimeout(() => outgoing.destroy(new Error('given up')), GIVEN_UP_MS);
    outgoing.on('response', (incoming) => void read(incoming).then(resolve, reject));
    outgoing.on('error', reject);
    outgoing.on('close', () => clearTimeout(patience));
    outgoing.end(text);
    return promise;
  }
}

/** The headers that a page of the panel sends, and its browser by itself. */
const browserHeaders = ({ origin, port }: URL, session: string): Readonly<Record<string, string>> => ({
  Cookie: `muster_${port}=${session}`,
  Origin: origin,
  'Content-Type': 'application/json',
});

async function read(incoming: IncomingMessage): Promise<Raw> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const { statusCode: status = 0, headers } = incoming;
  const text = Buffer.concat(chunks).toString();
  return { status, text, retryAfter: headers['retry-after'] !== undefined, etag: headers.etag ?? '' };
}

function failureOf(error: unknown): 'refused' | 'reset' | 'timeout' {
  const { message, code = '' } = error as NodeJS.ErrnoException;
  if (message === 'given up') return 'timeout';
  return `${code} ${message}`.includes('ECONNREFUSED') ? 'refused' : 'reset';
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    return text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** The error body is exactly `{ error: { code, message } }`. */
function codeOf(status: number, body: Readonly<Record<string, unknown>>): string {
  if (status < 400) return '';
  const { error } = body;
  const isShaped =
    typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    'message' in error &&
    Object.keys(body).length === 1;
  return isShaped && Object.keys(error).length === 2 ? String(error.code) : '?';
}
