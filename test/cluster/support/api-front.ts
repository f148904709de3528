import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, request as ask, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { ApiAccess } from './api-access.ts';

export interface FrontRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly watch: boolean;
  readonly body: string;
  readonly fieldManager: string | undefined;
  readonly userAgent: string | undefined;
}

/** The interference with a request; undefined: it goes on to the API server, and its answer comes back. */
export type Meddling =
  | undefined
  /** The API server never sees it. */
  | { readonly answer: { readonly status: number; readonly headers?: Record<string, string>; readonly body?: object } }
  /** The API server does it, and its answer is lost. */
  | 'answer lost'
  /** The API server never sees it, and the connection breaks. */
  | 'cut';

interface FrontOptions {
  readonly name?: string;
  /** The administrator's, whoever comes this way, or those that the client's own token gives it. */
  readonly rights?: 'administrator' | 'those of the client';
}

/** In front of a real API server: every request and answer passes, unless a test meddles with it. */
export class ApiFront implements AsyncDisposable {
  /** The URL of its own. */
  readonly server: string;
  /** The path of a kubeconfig that leads here, with the administrator's rights. */
  readonly kubeconfig: string;
  /** Asked for each request; it may take its time, and do something before the request goes on. */
  meddle: (request: FrontRequest) => Meddling | Promise<Meddling> = () => undefined;
  /** Called when the API server has answered, before the answer goes back. */
  answered: (request: FrontRequest, status: number) => void | Promise<void> = () => undefined;
  /** Every request since the start. */
  readonly seen: (FrontRequest & { readonly status: number })[] = [];
  readonly #server: Server;
  readonly #agent: Agent;
  readonly #upstream: URL;
  readonly #watches = new Set<ServerResponse>();
  #forwarding = 0;

  private constructor(plane: ApiAccess, server: Server, name: string, rights: NonNullable<FrontOptions['rights']>) {
    this.#server = server;
    this.#upstream = new URL(plane.server);
    const files = rights === 'administrator' ? ['admin.crt', 'admin.key'] : [];
    const [cert, key] = files.map((file) => readFileSync(`${plane.directory}/${file}`));
    this.#agent = new Agent({ keepAlive: true, ca: plane.authority.pem, ...(cert && { cert }), ...(key && { key }) });
    const { port } = server.address() as AddressInfo;
    this.server = `https://127.0.0.1:${port}`;
    this.kubeconfig = plane.administrator(name, this.server);
    server.on('request', (request, response) => void this.#serve(request, response));
  }

  static async start(
    plane: ApiAccess,
    { name = 'front', rights = 'administrator' }: FrontOptions = {},
  ): Promise<ApiFront> {
    const { certificate, key } = plane.authority.issue({ name, subject: `/CN=${name}`, hosts: ['IP:127.0.0.1'] });
    const server = createServer({ cert: readFileSync(certificate), key: readFileSync(key) });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new ApiFront(plane, server, name, rights);
  }

  /** Breaks off every watch, as a load balancer does. @returns how many there were */
  cutWatches(): number {
    const { size } = this.#watches;
    for (const watch of this.#watches) watch.destroy();
    return size;
  }

  /** The number of requests that the API server has not answered yet. */
  get forwarding(): number {
    return this.#forwarding;
  }

  get watching(): number {
    return this.#watches.size;
  }

  /** The number of requests since, by method and type of object. */
  counts(from = 0): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { method, path, watch } of this.seen.slice(from)) {
      const what = `${watch ? 'WATCH' : method} ${path.replace(/^.*\/namespaces\/[^/]+\//, '').replace(/\/[^/]+/, '/*')}`;
      counts[what] = (counts[what] ?? 0) + 1;
    }
    return counts;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    this.#agent.destroy();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.#upstream);
    const { method = 'GET' } = request;
    const told = {
      method,
      path: url.pathname,
      watch: url.searchParams.has('watch'),
      body: await text(request),
      fieldManager: url.searchParams.get('fieldManager') ?? undefined,
      userAgent: request.headers['user-agent'],
    };
    try {
      const meddling = await this.meddle(told);
      if (meddling === 'cut') return void response.destroy();
      if (typeof meddling === 'object') return this.#answer(told, response, meddling.answer);
      this.#forwarding += 1;
      await this.#forward(told, request, response, url, meddling === 'answer lost').finally(() => {
        this.#forwarding -= 1;
      });
    } catch {
      response.destroy();
    }
  }

  #answer(
    told: FrontRequest,
    response: ServerResponse,
    { status, headers, body }: { status: number; headers?: Record<string, string>; body?: object },
  ): void {
    this.seen.push({ ...told, status });
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(body ? `${JSON.stringify(body)}\n` : '{}');
  }

  #forward(
    told: FrontRequest,
    request: IncomingMessage,
    response: ServerResponse,
    url: URL,
    lose: boolean,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      const { host: _host, ...headers } = request.headers;
      const upstream = ask(url, { method: told.method, headers, agent: this.#agent }, (answer) => {
        const { statusCode = 0 } = answer;
        this.seen.push({ ...told, status: statusCode });
        if (told.watch) this.#follow(answer, response);
        Promise.resolve(told.watch ? undefined : this.answered(told, statusCode)).then(() => {
          if (lose) response.destroy();
          else {
            response.writeHead(statusCode, answer.headers);
            // A watch on which nothing happens yet has begun to answer all the same.
            response.flushHeaders();
          }
          answer.pipe(response);
          answer.on('error', () => response.destroy());
          resolve();
        }, reject);
      });
      upstream.on('error', reject);
      response.on('close', () => upstream.destroy());
      upstream.end(told.body);
    });
  }

  #follow(answer: IncomingMessage, response: ServerResponse): void {
    this.#watches.add(response);
    const gone = (): void => void this.#watches.delete(response);
    response.on('close', gone);
    answer.on('close', () => response.destroy());
  }
}
