import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request, type Agent } from 'node:https';
import { text } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';

interface SecureAnswer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** The name in the certificate that was shown. */
  readonly shown: string;
}

interface SecureCall {
  readonly ca: string;
  readonly method?: string;
  readonly token?: string;
  readonly body?: object;
  /** The name that the certificate must be for; the host of the URL where absent. */
  readonly servername?: string;
  /** Keeps its connection; by default each request has one of its own. */
  readonly agent?: Agent;
}

/** One request by HTTPS, of a client that trusts `ca` alone. */
export async function secureCall(url: string, options: SecureCall): Promise<SecureAnswer> {
  const { ca, method = 'GET', token, body, agent = false, servername } = options;
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const sent = request(url.replace(/^http:/, 'https:'), {
    ca,
    method,
    headers,
    agent,
    ...(servername !== undefined && { servername }),
  });
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  const shown = String((answer.socket as TLSSocket).getPeerCertificate().subject.CN);
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: await text(answer), shown };
}
