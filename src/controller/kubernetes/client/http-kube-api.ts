import { HttpMethod, IsomorphicFetchHttpLibrary, RequestContext, type ResponseContext } from '@kubernetes/client-node';
import * as z from 'zod';
import type { Clock } from '../../../time/clock.ts';
import { metadata } from '../schema/common.ts';
import { FIELD_MANAGER } from './field-manager.ts';
import { loadConfig, type Http1KubeConfig } from './http1-kube-config.ts';
import {
  KubeError,
  kubeErrorOf,
  type KubeApi,
  type KubeObject,
  type ListRequest,
  type ResourceType,
  type WatchRequest,
} from './kube-api.ts';
import type { KubeClientMetrics, KubeMethod } from './metrics.ts';
import { TokenFile } from './token-file.ts';
import { linesOf, watchEventOf } from './watch-stream.ts';

/*
 * The client of the Kubernetes project is used for what it does well: kubeconfig files, service accounts, their
 * rotation, TLS, proxies, and HTTP. This file is imported when the role is on, and the client with it. Its Watch cannot
 * keep what `KubeApi` promises, as docs/adr/0020 says with what was measured. The requests of a watch are sent here, so
 * the others are as well: by the generated API their 85 lines were 150, and it makes a `Date` of a Secret's times and
 * drops fields that its model does not know, where a watch of the same Secrets gives the object as it was sent.
 */

export interface ConnectOptions {
  /** Paths of kubeconfig files, as KUBECONFIG has them; undefined for the pod's own service account. */
  readonly kubeconfig: string | undefined;
  readonly clock: Clock;
  readonly metrics: KubeClientMetrics;
}

const REQUEST_MS_MAX = 15_000;
/** Credentials are read again after so long: a service account's token changes every hour, certificates sometimes. */
const CREDENTIALS_MS = 60_000;
const ANSWER_BYTES_MAX = 33_554_432;

type Dispatcher = NonNullable<ReturnType<RequestContext['getDispatcher']>>;

interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly dispatcher: Dispatcher | undefined;
  readonly until: number;
}

interface Ask {
  readonly method: HttpMethod;
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object;
  readonly contentType?: string;
  readonly signal: AbortSignal;
}

/** @throws Error in words where the kubeconfig cannot be read, or there is no service account */
export function connectKubernetes(options: ConnectOptions): KubeApi {
  return new HttpKubeApi(loadConfig(options.kubeconfig), options);
}

class HttpKubeApi implements KubeApi {
  readonly #config: Http1KubeConfig;
  readonly #tokenFile: TokenFile | undefined;
  readonly #options: ConnectOptions;
  #credentials: Promise<Credentials> | undefined;

  constructor(config: Http1KubeConfig, options: ConnectOptions) {
    this.#config = config;
    const path = config.tokenFilePath;
    this.#tokenFile = path === undefined ? undefined : new TokenFile(path, options.clock);
    this.#options = options;
  }

  async list(type: ResourceType, namespace: string | undefined, request: ListRequest, signal: AbortSignal) {
    const { limit, next } = request;
    const query = {
      limit: String(limit),
      ...selectorsOf(request),
      ...(next !== undefined && { continue: next }),
    };
    const list = listSchema.parse(await this.#json({ method: GET, path: pathOf(type, namespace), query, signal }));
    const { resourceVersion, continue: following } = list.metadata;
    return { items: list.items, resourceVersion, next: following === '' ? undefined : following };
  }

  async *watch(type: ResourceType, namespace: string | undefined, request: WatchRequest, signal: AbortSignal) {
    const { resourceVersion, timeoutSeconds } = request;
    const query = {
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion,
      timeoutSeconds: String(timeoutSeconds),
      ...selectorsOf(request),
    };
    const ended = new AbortController();
    const ask = { method: GET, path: pathOf(type, namespace), query, signal: AbortSignal.any([signal, ended.signal]) };
    try {
      const response = await this.#send(ask, ended);
      yield { type: 'OPENED' } as const;
      for await (const line of linesOf(response.body.stream(), this.#options.clock, ended)) yield watchEventOf(line);
    } catch (error) {
      throw signal.aborted ? error : unavailable(error);
    } finally {
      ended.abort();
    }
  }

  async get(type: ResourceType, namespace: string, name: string, signal: AbortSignal) {
    try {
      return parseObject(await this.#json({ method: GET, path: pathOf(type, namespace, name), signal }));
    } catch (error) {
      if (error instanceof KubeError && error.reason === 'gone') return undefined;
      throw error;
    }
  }

  async create(type: ResourceType, namespace: string, body: object, signal: AbortSignal) {
    return parseObject(
      await this.#json({ method: POST, path: pathOf(type, namespace), query: WRITTEN_BY, body, signal }),
    );
  }

  async patch(
    type: ResourceType,
    { metadata: { namespace, name, uid, resourceVersion } }: KubeObject,
    { merge, subresource }: Parameters<KubeApi['patch']>[2],
    signal: AbortSignal,
  ) {
    const path = pathOf(type, namespace, name) + (subresource === undefined ? '' : `/${subresource}`);
    const body = { ...merge, metadata: { ...(merge['metadata'] as object), uid, resourceVersion } };
    const contentType = 'application/merge-patch+json';
    return parseObject(await this.#json({ method: PATCH, path, query: WRITTEN_BY, body, contentType, signal }));
  }

  async remove(
    type: ResourceType,
    { metadata: { namespace, name, uid, resourceVersion } }: KubeObject,
    signal: AbortSignal,
  ) {
    const body = { preconditions: { uid, resourceVersion } };
    try {
      await this.#json({ method: DELETE, path: pathOf(type, namespace, name), body, signal });
    } catch (error) {
      if (!(error instanceof KubeError && error.reason === 'gone')) throw error;
    }
  }

  async isLeaving(namespace: string, signal: AbortSignal) {
    const told = await this.#namespace(namespace, signal);
    return told === undefined || told.deletionTimestamp !== undefined;
  }

  async namespaceUid(namespace: string, signal: AbortSignal) {
    return (await this.#namespace(namespace, signal))?.uid;
  }

  async #namespace(namespace: string, signal: AbortSignal) {
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}`;
    try {
      return namespaceSchema.parse(await this.#json({ method: GET, path, signal })).metadata;
    } catch (error) {
      if (error instanceof KubeError && error.reason === 'gone') return undefined;
      throw error;
    }
  }

  async #json(ask: Ask): Promise<unknown> {
    const deadline = AbortSignal.timeout(REQUEST_MS_MAX);
    try {
      const response = await this.#send({ ...ask, signal: AbortSignal.any([ask.signal, deadline]) });
      return JSON.parse(await boundedText(response));
    } catch (error) {
      throw ask.signal.aborted ? error : unavailable(error);
    }
  }

  /** @param ended ends a watch whose answer has not begun within the deadline of a request */
  async #send(ask: Ask, ended?: AbortController): Promise<ResponseContext> {
    const request = new RequestContext(await this.#url(ask), ask.method);
    const { headers, dispatcher } = await this.#current();
    for (const [name, value] of Object.entries(headers)) request.setHeaderParam(name, value);
    const token = await this.#tokenFile?.current();
    if (token !== undefined) request.setHeaderParam('Authorization', `Bearer ${token}`);
    if (dispatcher) request.setDispatcher(dispatcher);
    request.setHeaderParam('Accept', 'application/json');
    if (ask.body) {
      request.setHeaderParam('Content-Type', ask.contentType ?? 'application/json');
      request.setBody(JSON.stringify(ask.body));
    }
    request.setSignal(ask.signal);
    const answered = new AbortController();
    const late = ended && this.#options.clock.sleep(REQUEST_MS_MAX, answered.signal);
    void late?.then(() => answered.signal.aborted || ended?.abort(new Error('the API server did not begin to answer')));
    const { method } = ask;
    try {
      const response = await new IsomorphicFetchHttpLibrary().send(request).toPromise();
      this.#options.metrics.kubernetesAnswered(method as KubeMethod, response.httpStatusCode);
      if (response.httpStatusCode >= 400) throw await this.#refusal(response);
      return response;
    } catch (error) {
      if (!(error instanceof KubeError)) this.#options.metrics.kubernetesAnswered(method as KubeMethod, 0);
      throw error;
    } finally {
      answered.abort();
    }
  }

  async #refusal(response: ResponseContext): Promise<KubeError> {
    // The disk may have another token by now.
    if (response.httpStatusCode === 401) {
      this.#credentials = undefined;
      this.#tokenFile?.refused();
    }
    const text = await boundedText(response);
    const told = statusSchema.safeParse(text.startsWith('{') ? JSON.parse(text) : {});
    const { reason = '', message = '' } = told.data ?? {};
    return kubeErrorOf(response.httpStatusCode, reason, message, response.headers['retry-after']);
  }

  async #url({ path, query }: Ask): Promise<string> {
    const server = this.#config.getCurrentCluster()?.server.replace(/\/$/, '') ?? '';
    return `${server}${path}${query ? `?${new URLSearchParams(query).toString()}` : ''}`;
  }

  /**
   * The client by itself would open a connection for each request. So the credentials and the connections that it makes
   * are kept for a minute; the connections before them close when the requests on them are over.
   */
  async #current(): Promise<Credentials> {
    const kept = await this.#credentials?.catch(() => undefined);
    const now = this.#options.clock.monotonic();
    if (kept && now < kept.until) return kept;
    const made = this.#apply(now + CREDENTIALS_MS);
    this.#credentials = made;
    const fresh = await made;
    if (kept?.dispatcher) void kept.dispatcher.close().catch(() => undefined);
    return fresh;
  }

  async #apply(until: number): Promise<Credentials> {
    const probe = new RequestContext(await this.#url({ method: GET, path: '/', signal: NEVER }), GET);
    await this.#config.applySecurityAuthentication(probe);
    return { headers: probe.getHeaders(), dispatcher: probe.getDispatcher(), until };
  }
}

const { GET, POST, PATCH, DELETE } = HttpMethod;
const NEVER = new AbortController().signal;
const WRITTEN_BY = { fieldManager: FIELD_MANAGER };

const objectSchema = z.looseObject({ metadata });
const listSchema = z.looseObject({
  metadata: z.looseObject({ resourceVersion: z.string(), continue: z.string().default('') }),
  items: z.array(objectSchema),
});
const namespaceSchema = z.looseObject({
  metadata: z.looseObject({ uid: z.string(), deletionTimestamp: z.string().optional() }),
});
const statusSchema = z.looseObject({ reason: z.string().optional(), message: z.string().optional() });

const parseObject = (json: unknown): KubeObject => objectSchema.parse(json);

const selectorsOf = ({ labelSelector, fieldSelector }: ListRequest | WatchRequest): Record<string, string> => ({
  ...(labelSelector !== undefined && { labelSelector }),
  ...(fieldSelector !== undefined && { fieldSelector }),
});

function pathOf({ group, version, plural }: ResourceType, namespace: string | undefined, name?: string): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const within = namespace === undefined ? [] : ['namespaces', namespace];
  const parts = [...within, plural, ...(name === undefined ? [] : [name])];
  return `${root}/${parts.map(encodeURIComponent).join('/')}`;
}

async function boundedText(response: ResponseContext): Promise<string> {
  const length = Number(response.headers['content-length'] ?? 0);
  if (length > ANSWER_BYTES_MAX) throw new KubeError('unavailable', 0, 'the answer is too long');
  return await response.body.text();
}

/** The error of a request without an answer: it was refused, cut off, too late, or is not JSON. */
function unavailable(error: unknown): Error {
  if (error instanceof KubeError) return error;
  // The parser quotes what it stumbled over, which may be a part of a Secret.
  if (error instanceof SyntaxError) return new KubeError('unavailable', 0, 'the answer of the API server is no JSON');
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return new KubeError('unavailable', 0, `no answer of the API server: ${cause instanceof Error ? cause.message : ''}`);
}
