import { once } from 'node:events';
import { request as sendPlain, type IncomingMessage } from 'node:http';
import { request as sendEncrypted } from 'node:https';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';

/* One request on a connection of its own, and its answer as it came: `fetch` joins fields and inflates bodies. */

export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface Sent {
  readonly method: Method;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: object | undefined;
  /** Trusted for a URL of HTTPS. */
  readonly ca?: string;
}

export interface Got {
  readonly status: number;
  /** The values of each field, by its name in lower case. */
  readonly fields: ReadonlyMap<string, readonly string[]>;
  readonly text: string;
}

/** Sends it. A stream of events is left when it has begun. */
export async function send(url: string, { method, headers = {}, body, ca }: Sent): Promise<Got> {
  const content = body === undefined ? undefined : JSON.stringify(body);
  const options = {
    method,
    agent: false,
    headers: { ...(content !== undefined && { 'content-type': 'application/json' }), ...headers },
  } as const;
  const sent = ca === undefined ? sendPlain(url, options) : sendEncrypted(url, { ...options, ca });
  sent.end(content);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  const fields = fieldsOf(answer);
  const isStream = fields.get('content-type')?.[0] === 'text/event-stream';
  if (isStream) sent.destroy();
  return { status: answer.statusCode ?? 0, fields, text: isStream ? '' : await text(answer) };
}

/** Sends bytes as they are, and reads the one answer to them. */
export async function sendBytes(url: string, bytes: string, ca: string | undefined): Promise<Got> {
  const { hostname: host, port } = new URL(url);
  const socket =
    ca === undefined ? connect({ host, port: Number(port) }) : connectTls({ host, port: Number(port), ca });
  socket.write(bytes);
  const [head = '', ...rest] = (await text(socket)).split('\r\n\r\n');
  const [status = '', ...lines] = head.split('\r\n');
  const rawHeaders = lines.flatMap((line) => line.split(/: (.*)/, 2));
  return { status: Number(status.split(' ')[1]), fields: fieldsOf({ rawHeaders }), text: rest.join('\r\n\r\n') };
}

/** More of a body than is read, or waited for, once it is answered. */
const UNREAD_BYTES = 2 * 1_048_576;

/**
 * Sends a body that has no end: after its first 2 MiB nothing more comes.
 * @returns the status, once the other side has closed the connection
 */
export async function sendEndless(url: string, { method, headers = {}, ca }: Omit<Sent, 'body'>): Promise<number> {
  const options = { method, agent: false, headers: { 'content-type': 'application/json', ...headers } } as const;
  const sent = ca === undefined ? sendPlain(url, options) : sendEncrypted(url, { ...options, ca });
  let status = 0;
  sent.on('response', (answer) => {
    status = answer.statusCode ?? 0;
    answer.resume();
  });
  // To Node the end of a connection under a body is an error.
  sent.on('error', () => undefined);
  sent.write(Buffer.alloc(UNREAD_BYTES, ' '));
  await once(sent, 'close');
  return status;
}

function fieldsOf({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): ReadonlyMap<string, readonly string[]> {
  const fields = new Map<string, string[]>();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase();
    fields.set(name, [...(fields.get(name) ?? []), rawHeaders[at + 1] ?? '']);
  }
  return fields;
}
