import { request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

interface PanelAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/**
 * A browser that reaches the panel through a proxy which speaks TLS to it: the Service gets what such a proxy sends on.
 */
export class PanelVisitor {
  readonly #service: string;
  readonly #url: URL;
  readonly #cookies = new Map<string, string>();

  /**
   * @param service the URL of the panel's Service
   * @param url of the panel as browsers know it
   */
  constructor(service: string, url: string) {
    this.#service = service;
    this.#url = new URL(url);
  }

  /** The names of the cookies that it was given. */
  get cookies(): readonly string[] {
    return [...this.#cookies.keys()];
  }

  async ask(path: string, body?: object): Promise<PanelAnswer> {
    const sent = request(`${this.#service}/panel/v1${path}`, {
      method: body ? 'POST' : 'GET',
      headers: {
        host: this.#url.host,
        'x-forwarded-proto': 'https',
        cookie: [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(body && { origin: this.#url.origin, 'content-type': 'application/json' }),
      },
    });
    sent.end(body && JSON.stringify(body));
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      sent.once('response', resolve).once('error', reject);
    });
    for (const field of answer.headers['set-cookie'] ?? []) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(field) ?? [];
      if (/; Max-Age=0(?:;|$)/.test(field)) this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
    const said = await text(answer);
    const parsed = said.startsWith('{') ? (JSON.parse(said) as PanelAnswer['body']) : {};
    return { status: answer.statusCode ?? 0, body: parsed };
  }
}
