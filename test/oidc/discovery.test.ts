import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { clientCredentialsGrant } from 'openid-client';
import { expect, onTestFinished, test } from 'vitest';
import { createDiscovery } from '../../src/oidc/discovery.ts';
import { createEgress } from '../../src/outgoing/egress.ts';
import { FakeClock } from '../support/time/fake-clock.ts';

test('another secret of the client is used, and a description that is still good is kept for it', async () => {
  const secrets: (string | null)[] = [];
  let [isAway, secret] = [false, 'before'];
  const server = createServer((request, response) => {
    const json = (body: object) => response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
    if (request.url !== '/token') {
      if (isAway) response.statusCode = 503;
      return void json({ issuer: url, token_endpoint: `${url}/token`, jwks_uri: `${url}/jwks` });
    }
    void text(request).then((body) => {
      secrets.push(new URLSearchParams(body).get('client_secret'));
      json({ access_token: 'token', token_type: 'bearer' });
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = { issuer: url, clientId: 'muster', clientSecret: () => secret };
  const discovered = createDiscovery(provider, { clock: new FakeClock(0), egress: createEgress(undefined) });
  const grant = async () => clientCredentialsGrant((await discovered()).configuration);
  await grant();
  [isAway, secret] = [true, 'after'];
  await grant();
  expect(secrets).toEqual(['before', 'after']);
});
