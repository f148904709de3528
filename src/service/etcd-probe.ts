import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';

/*
 * Looks at an address as gRPC would use it, and tells what gRPC's own words leave open: TCP, TLS, and the first bytes
 * of HTTP/2, each with the error of the system.
 */

/**
 * The stage that a peer reached: `unnamed` has a name that nobody looks up, `unconnected` has no answer to the
 * connection, `silent` accepts it and sends nothing, `closed` ends it without a byte, `failed` has an error of the
 * system or of TLS.
 */
export type Look =
  | { readonly outcome: 'unnamed' | 'unconnected' | 'silent' | 'closed' }
  | { readonly outcome: 'failed'; readonly code: string; readonly message: string }
  | { readonly outcome: 'answered'; readonly bytes: Buffer };

/** The certificates of a client of etcd, as PEM. */
export interface Tls {
  readonly ca?: Buffer;
  readonly certificate?: Buffer;
  readonly key?: Buffer;
}

/** How long a peer has for each answer. */
export const ANSWER_MS_MAX = 1000;
const ANSWER_BYTES_MAX = 4096;
/** The first bytes of a client of HTTP/2 (RFC 9113, 3.4): the preface, and a frame of SETTINGS without any. */
const HTTP2_PREFACE = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]),
]);
const FRAME_HEADER_BYTES = 9;
const SETTINGS = 4;

/** Whether these are the first bytes of a server of HTTP/2. */
export const isHttp2 = (bytes: Buffer): boolean => bytes.length >= FRAME_HEADER_BYTES && bytes[3] === SETTINGS;

const isNoHttp1 = (bytes: Buffer): boolean =>
  bytes.length >= FRAME_HEADER_BYTES && !bytes.toString('latin1').startsWith('HTTP/1');

/** Asks in plain HTTP for etcd's version, whatever the scheme of the address. Never rejects. */
export async function askPlainly(url: string, answerMs: number): Promise<Look> {
  const { host, port } = placeOf(url);
  const socket = connect({ host, port });
  socket.once('connect', () => socket.write(`GET /version HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`));
  return await lookAt(socket, { url, answerMs, isEnough: isNoHttp1 });
}

/** Begins HTTP/2 over TLS as gRPC does, with these certificates. Never rejects. */
export async function askOverTls(url: string, tls: Tls | undefined, answerMs: number): Promise<Look> {
  const socket = tlsSocket(url, { ca: tls?.ca, cert: tls?.certificate, key: tls?.key });
  socket.once('secureConnect', () => socket.write(HTTP2_PREFACE));
  return await lookAt(socket, { url, answerMs, isEnough: (bytes) => bytes.length >= FRAME_HEADER_BYTES });
}

/**
 * Whether TLS is spoken there. Nothing is sent but the handshake's own messages, so the certificate does not matter.
 */
export async function speaksTls(url: string, answerMs: number): Promise<boolean> {
  const socket = tlsSocket(url, { rejectUnauthorized: false });
  socket.once('secureConnect', () => socket.destroy());
  let secured = false;
  socket.once('secureConnect', () => (secured = true));
  const look = await lookAt(socket, { url, answerMs, isEnough: () => false });
  // An alert comes from a server that speaks TLS, and wants a certificate perhaps.
  return secured || (look.outcome === 'failed' && look.code.includes('ALERT'));
}

interface TlsChoice {
  readonly ca?: Buffer | undefined;
  readonly cert?: Buffer | undefined;
  readonly key?: Buffer | undefined;
  readonly rejectUnauthorized?: false;
}

function tlsSocket(url: string, choice: TlsChoice): TLSSocket {
  const { host, port } = placeOf(url);
  const named = isIP(host) === 0 ? { servername: host } : {};
  return connectTls({ host, port, ALPNProtocols: ['h2'], ...named, ...choice });
}

/** The host and port of a URL. */
export function placeOf(url: string): { readonly host: string; readonly port: number } {
  const { protocol, hostname, port } = new URL(url);
  // A URL leaves out the port that its scheme implies.
  const implied = protocol === 'https:' ? 443 : 80;
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? implied : Number(port) };
}

interface LookRequest {
  readonly url: string;
  readonly answerMs: number;
  /** Whether the peer has said what there is to know. */
  readonly isEnough: (bytes: Buffer) => boolean;
}

async function lookAt(socket: Socket, { url, answerMs, isEnough }: LookRequest): Promise<Look> {
  let bytes = Buffer.alloc(0);
  let reached: 'unnamed' | 'unconnected' | 'silent' = isIP(placeOf(url).host) === 0 ? 'unnamed' : 'unconnected';
  const look = Promise.withResolvers<Look>();
  const end = (without: Look): void => {
    look.resolve(bytes.length > 0 ? { outcome: 'answered', bytes } : without);
    socket.destroy();
  };
  socket.once('lookup', () => (reached = 'unconnected'));
  socket.once('connect', () => (reached = 'silent'));
  socket.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    if (isEnough(bytes) || bytes.length >= ANSWER_BYTES_MAX) end({ outcome: 'closed' });
  });
  socket.on('error', ({ code = 'unknown', message }: NodeJS.ErrnoException) =>
    end({ outcome: 'failed', code, message }),
  );
  socket.once('close', () => end({ outcome: 'closed' }));
  // Answers that came while this process was kept from looking are heard before it is judged.
  const patience = setTimeout(() => setImmediate(() => end({ outcome: reached })), answerMs);
  try {
    return await look.promise;
  } finally {
    clearTimeout(patience);
  }
}
