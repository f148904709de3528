import { get as httpGet, type IncomingMessage } from 'node:http';
import { get as httpsGet } from 'node:https';
import type { Tls } from './channel.ts';

interface TextOptions {
  readonly tls: Tls | undefined;
  readonly deadlineMs: number;
  readonly charactersMax: number;
}

/** Reads the answer of an HTTP address of etcd. @throws Error where there is none in time, or it is too long */
export async function textOverHttp(address: URL, { tls, deadlineMs, charactersMax }: TextOptions): Promise<string> {
  const signal = AbortSignal.timeout(deadlineMs);
  // An agent of its own: the one of Node goes by `http_proxy` where NODE_USE_ENV_PROXY is set, as gRPC must not.
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const request =
      address.protocol === 'https:'
        ? httpsGet(address, { agent: false, ca: tls?.ca, cert: tls?.certificate, key: tls?.key, signal }, resolve)
        : httpGet(address, { agent: false, signal }, resolve);
    request.on('error', reject);
  });
  let body = '';
  for await (const chunk of response.setEncoding('utf8')) {
    body += String(chunk);
    if (body.length > charactersMax) throw new Error('not an answer of etcd');
  }
  return body;
}
