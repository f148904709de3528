import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SignJWT } from 'jose';
import { signingKey, type SigningKey } from './oidc-provider.ts';

/** What is wrong with the ID tokens of a provider. */
export interface Forgery {
  readonly aheadSeconds?: number;
  readonly audience?: string;
  readonly issuer?: string;
  readonly nonce?: string;
  readonly key?: SigningKey;
  readonly subject?: string;
  /** What it tells beside: `auth_time`, `amr`, `sid`. */
  readonly claims?: Readonly<Record<string, unknown>>;
}

/** A provider made by hand, whose tokens no real one would give. */
export async function forgingProvider(
  forgery: Forgery,
): Promise<AsyncDisposable & { readonly issuer: string; readonly asked: URLSearchParams[] }> {
  const key = signingKey('key');
  let nonce = '';
  const asked: URLSearchParams[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', issuer);
    const json = (body: object): void =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (url.pathname === '/.well-known/openid-configuration') {
      json({
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/keys`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['ES256'],
      });
    } else if (url.pathname === '/keys') {
      const { d: _private, ...jwk } = key.privateKey.export({ format: 'jwk' });
      json({ keys: [{ ...jwk, kid: key.kid, use: 'sig', alg: 'ES256' }] });
    } else if (url.pathname === '/authorize') {
      asked.push(url.searchParams);
      nonce = url.searchParams.get('nonce') ?? '';
      const back = new URL(url.searchParams.get('redirect_uri') ?? '');
      back.search = new URLSearchParams({ code: 'c', state: url.searchParams.get('state') ?? '' }).toString();
      response.writeHead(303, { location: back.href }).end();
    } else {
      const now = Math.floor(Date.now() / 1000) + (forgery.aheadSeconds ?? 0);
      void new SignJWT({ groups: [], ...forgery.claims, nonce: forgery.nonce ?? nonce })
        .setProtectedHeader({ alg: 'ES256', kid: key.kid })
        .setIssuer(forgery.issuer ?? issuer)
        .setAudience(forgery.audience ?? 'muster')
        .setSubject(forgery.subject ?? 'ann')
        .setIssuedAt(now)
        .setExpirationTime(now + 3600)
        .sign((forgery.key ?? key).privateKey)
        .then((token) => json({ access_token: 'a', token_type: 'Bearer', id_token: token }));
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    issuer,
    /** The questions of its authorization endpoint. */
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
