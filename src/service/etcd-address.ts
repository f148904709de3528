import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { ConfigError } from '../config/config.ts';
import { StoreUnavailable } from '../store/port.ts';

/** Nothing listens at an address of etcd: it has not started yet, or is elsewhere. The message says so to a person. */
export class NothingListens extends StoreUnavailable {
  constructor(message: string) {
    super('unreachable', message);
  }
}

const ANSWER_MS_MAX = 1000;
const ANSWER_BYTES_MAX = 4096;
/**
 * Asks each address of an etcd that cannot be reached, in plain HTTP, for what is wrong with it.
 * @throws ConfigError where one speaks TLS and should not, or the other way round; NothingListens; returns where nothing
 * can be told
 */
export async function refuseWrongAddresses(urls: readonly string[]): Promise<void> {
  const faults = await Promise.all(urls.map(faultOf));
  const wrong = faults.find((fault) => fault instanceof ConfigError) ?? faults.find((fault) => fault !== undefined);
  if (wrong) throw wrong;
}

async function faultOf(url: string): Promise<Error | undefined> {
  let answer: Buffer;
  try {
    answer = await plainAnswer(new URL(url));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const says: Readonly<Record<string, string>> = {
      ECONNREFUSED: `MUSTER_STORE: nothing listens at ${url}: start etcd, or correct the address`,
      ENOTFOUND: `MUSTER_STORE: the name in ${url} is not known: correct the address`,
    };
    const words = says[code ?? ''];
    return words === undefined ? undefined : new NothingListens(words);
  }
  const speaksPlain =
    answer
      .subarray(0, 12)
      .toString('latin1')
      .match(/^HTTP\/1\.[01] 2/) !== null;
  if (url.startsWith('http:') && !speaksPlain && (await speaksTls(new URL(url)))) {
    return new ConfigError(`MUSTER_STORE: ${url} speaks TLS: write https://, and set MUSTER_ETCD_CA_FILE`);
  }
  if (url.startsWith('https:') && speaksPlain) {
    return new ConfigError(`MUSTER_STORE: ${url} does not speak TLS: write http://, or have etcd listen with TLS`);
  }
  return undefined;
}

/** @returns the beginning of the answer; empty where there is none in time. @throws the system's error */
async function plainAnswer({ hostname, port }: URL): Promise<Buffer> {
  const host = hostname.replace(/^\[|\]$/g, '');
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  let answer = Buffer.alloc(0);
  const socket = connect({ host, port: Number(port), timeout: ANSWER_MS_MAX });
  socket.once('connect', () => socket.write(`GET /version HTTP/1.1\r\nHost: ${hostname}\r\nConnection: close\r\n\r\n`));
  socket.on('data', (chunk: Buffer) => {
    answer = Buffer.concat([answer, chunk]);
    if (answer.length >= ANSWER_BYTES_MAX) socket.destroy();
  });
  socket.once('timeout', () => socket.destroy());
  socket.once('error', (error) => (answer.length > 0 ? resolve(answer) : reject(error)));
  socket.once('close', () => resolve(answer));
  return await promise;
}

/** Nothing is sent but the handshake's own messages, so the certificate does not matter. */
async function speaksTls({ hostname, port }: URL): Promise<boolean> {
  const host = hostname.replace(/^\[|\]$/g, '');
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connectTls({ host, port: Number(port), timeout: ANSWER_MS_MAX, rejectUnauthorized: false });
  socket.once('secureConnect', () => resolve(true));
  // An alert comes from a server that speaks TLS, and wants a certificate perhaps.
  socket.once('error', ({ code = '' }: NodeJS.ErrnoException) => resolve(code.includes('ALERT')));
  socket.once('timeout', () => resolve(false));
  socket.once('close', () => resolve(false));
  try {
    return await promise;
  } finally {
    socket.destroy();
  }
}
