import { once } from 'node:events';
import { Agent, createServer, request, type Server } from 'node:http';

/**
 * A balancer that sends each request to the next of its targets, on a connection of its own that it keeps for no other.
 */
export class RoundRobin implements AsyncDisposable {
  /** How many requests each target has answered. */
  readonly answered: number[];
  readonly #server: Server;

  private constructor(server: Server, targets: readonly string[]) {
    this.#server = server;
    this.answered = targets.map(() => 0);
    // A connection for each request, on both sides.
    const agent = new Agent({ keepAlive: false });
    let next = 0;
    server.on('request', (incoming, outgoing) => {
      const index = next % targets.length;
      next += 1;
      const { method, headers, url = '/' } = incoming;
      const onward = request(new URL(url, targets[index]), {
        method,
        headers: { ...headers, connection: 'close' },
        agent,
      });
      onward.on('response', (answer) => {
        this.answered[index] = (this.answered[index] ?? 0) + 1;
        outgoing.writeHead(answer.statusCode ?? 502, { ...answer.headers, connection: 'close' });
        answer.pipe(outgoing);
      });
      onward.on('error', () => outgoing.writeHead(502).end());
      incoming.pipe(onward);
    });
  }

  static async before(targets: readonly string[]): Promise<RoundRobin> {
    const server = createServer();
    const balancer = new RoundRobin(server, targets);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return balancer;
  }

  get url(): string {
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
