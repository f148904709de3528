import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import process from 'node:process';
import OpenIdProvider, { type Configuration, type JWK } from 'oidc-provider';

/*
 * An OpenID Connect provider, as a process of its own: what it is asked at `/control` says who signs in, in which
 * groups, and with which keys it signs. Nobody types anything; for a real browser it can show a page with a button. Its
 * settings come by standard input; it prints its address.
 */

interface Settings {
  readonly clientSecret: string;
}
interface Control {
  /** It sends browsers back to this address. */
  redirectUri: string;
  user: string;
  groups: unknown;
  keys: readonly JWK[];
  down: boolean;
  /** Whoever has signed in is in its directory no more. */
  gone: boolean;
  /** Whoever signs in presses a button on a page first. */
  asks: boolean;
}

const settings = JSON.parse(await text(process.stdin)) as Settings;
/** It is down until it is told its keys, and where it sends browsers back to. */
const UNTOLD: Control = {
  redirectUri: 'http://127.0.0.1:9/untold',
  user: 'ann',
  groups: ['staff'],
  keys: [],
  down: true,
  gone: false,
  asks: false,
};
const control = { ...UNTOLD };
const server = createServer((request, response) => {
  serve(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
});
server.listen(0, '127.0.0.1');
await new Promise((done) => server.once('listening', done));
const address = server.address();
const issuer = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
let provider = made();

function made(): OpenIdProvider {
  const configuration: Configuration = {
    clients: [
      {
        client_id: 'muster',
        client_secret: settings.clientSecret,
        redirect_uris: [control.redirectUri],
        post_logout_redirect_uris: [new URL('/sign-in', control.redirectUri).href],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        id_token_signed_response_alg: 'ES256',
        backchannel_logout_uri: new URL('back-channel-logout', control.redirectUri).href,
        backchannel_logout_session_required: true,
      },
    ],
    jwks: { keys: [...control.keys] },
    cookies: { keys: ['for tests'] },
    scopes: ['openid', 'profile', 'email', 'groups', 'offline_access'],
    claims: { openid: ['sub', 'groups', 'sid'], profile: ['name'], email: ['email'] },
    conformIdTokenClaims: false,
    issueRefreshToken: async () => true,
    rotateRefreshToken: true,
    findAccount: (_context, id) =>
      control.gone
        ? undefined
        : {
            accountId: id,
            claims: async () => ({
              sub: id,
              name: `${id} of the provider`,
              ...(control.groups !== undefined && { groups: control.groups }),
            }),
          },
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: { enabled: true },
      backchannelLogout: { enabled: true },
    },
    // Its own refuses addresses of this machine.
    fetch: (url, options = {}) => {
      const { dispatcher: _own, ...rest } = options as RequestInit & { dispatcher?: unknown };
      return fetch(url, rest);
    },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
  };
  return new OpenIdProvider(issuer, configuration);
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url === '/control') {
    const isNew = request.headers['x-begins'] !== undefined;
    Object.assign(control, isNew && { ...UNTOLD, down: false }, JSON.parse(await text(request)));
    if (isNew || request.headers['x-rotate'] !== undefined) provider = made();
    response.writeHead(204).end();
  } else if (control.down) response.writeHead(503).end();
  else if (request.url?.startsWith('/interaction/') === true) await interact(request, response);
  else await provider.callback()(request, response);
}

/** Signs in whom the control names, and consents to all that is asked. */
async function interact(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { prompt, params, session, grantId } = await provider.interactionDetails(request, response);
  if (prompt.name === 'login' && control.asks && request.method !== 'POST') {
    response.setHeader('content-type', 'text/html');
    response.end(`<h1>The provider</h1><form method="post"><button>Sign in as ${control.user}</button></form>`);
    return;
  }
  if (prompt.name === 'login') {
    await provider.interactionFinished(request, response, { login: { accountId: control.user } });
    return;
  }
  const found = grantId === undefined ? undefined : await provider.Grant.find(grantId);
  const grant =
    found ??
    new provider.Grant({
      ...(session && { accountId: session.accountId }),
      clientId: String(params['client_id']),
    });
  grant.addOIDCScope('openid profile email groups offline_access');
  const consent = { grantId: await grant.save() };
  await provider.interactionFinished(request, response, { consent }, { mergeWithLastSubmission: true });
}

process.stdout.write(`${issuer}\n`);
