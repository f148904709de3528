import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { until } from '../time/until.ts';

/** A request that an exporter sent. */
interface OtlpExport {
  readonly path: string;
  /** Every header of the name, as its bytes came; the name in lower case. */
  header(name: string): readonly string[];
  /** The body without its compression. */
  readonly body: Buffer;
}

/**
 * A receiver of OTLP over HTTP that keeps what it is sent, headers byte for byte. With a collector behind it, it hands
 * on what it got, and answers as that one does.
 */
export class OtlpReceiver implements AsyncDisposable {
  readonly exports: OtlpExport[] = [];
  readonly #server: Server;
  readonly #behind: string | undefined;

  private constructor(server: Server, behind: string | undefined) {
    this.#server = server;
    this.#behind = behind;
    server.on('request', (request, response) => void this.#receive(request, response));
  }

  /** @param behind the URL of a collector that is handed all exports; undefined for none */
  static async start(behind?: string): Promise<OtlpReceiver> {
    const server = createServer();
    const receiver = new OtlpReceiver(server, behind);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return receiver;
  }

  /** What an exporter has as its endpoint. */
  get endpoint(): string {
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  }

  /** Resolves with the export that holds the text, such as the name of a span. */
  async exportWith(text: string): Promise<OtlpExport> {
    const find = (): OtlpExport | undefined => this.exports.find(({ body }) => body.includes(text));
    await until(() => find() !== undefined);
    const found = find();
    if (!found) throw new Error('An export is gone.');
    return found;
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '';
    const sent = await buffer(request);
    const pairs = request.rawHeaders.flatMap((name, index, all) =>
      index % 2 === 0 ? [{ name: name.toLowerCase(), value: all[index + 1] ?? '' }] : [],
    );
    const header = (name: string): string[] => pairs.filter((pair) => pair.name === name).map(({ value }) => value);
    const body = header('content-encoding').includes('gzip') ? gunzipSync(sent) : sent;
    this.exports.push({ path, header, body });
    if (this.#behind === undefined) {
      response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
      return;
    }
    const type = request.headers['content-type'] ?? '';
    const answer = await fetch(`${this.#behind}${path}`, {
      method: 'POST',
      headers: { 'content-type': type },
      body: Buffer.from(body),
    });
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? type });
    response.end(Buffer.from(await answer.arrayBuffer()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

/** A trace of one span, in the JSON of OTLP. */
const traceOf = (spanName: string): object => ({
  resourceSpans: [
    {
      resource: { attributes: [{ key: 'service.name', value: { stringValue: 'walk' } }] },
      scopeSpans: [
        {
          scope: { name: 'walk' },
          spans: [
            {
              traceId: '5b8efff798038103d269b633813fc60c',
              spanId: 'eee19b7ec3c1b174',
              name: spanName,
              kind: 1,
              startTimeUnixNano: '1544712660000000000',
              endTimeUnixNano: '1544712661000000000',
            },
          ],
        },
      ],
    },
  ],
});

/**
 * Sends a trace to the OTLP receiver of a collector, which may still be about to start. @param url of its HTTP listener
 */
export async function sendTrace(url: string, spanName: string): Promise<void> {
  await until(async () => {
    try {
      const answer = await fetch(`${url}/v1/traces`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(traceOf(spanName)),
      });
      return answer.ok;
    } catch {
      // Nothing listens there yet.
      return false;
    }
  });
}
