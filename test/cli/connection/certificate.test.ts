import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { ownerOf } from '../../../src/cli/connection/clients.ts';
import { invocation } from '../../../src/cli/terminal/invocation.ts';
import { generateAppId, systemRandom } from '../../../src/domain/credentials/random-ids.ts';
import { generateApiKey, generateEnrollCode } from '../../../src/domain/credentials/tokens.ts';
import { recordedTerminal } from '../../support/cli/recorded-terminal.ts';
import { issuedBy, selfSigned, type SelfSigned } from '../../support/http/certificates.ts';
import { musterHere } from '../../support/service/muster-command.ts';
import { until } from '../../support/time/until.ts';

/* What a patient command makes of a certificate that nothing vouches for. */

let root: string;
let [own, other]: SelfSigned[] = [];
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'muster-certificate-'));
  [own, other] = ['own', 'other'].map((name) => selfSigned(root, name));
});
// Other files run in the same process.
const trusted = getCACertificates('default');
afterAll(() => {
  setDefaultCACertificates(trusted);
  rmSync(root, { recursive: true });
});

let server: Server;
let url: string;
let connections: number;
beforeEach(async () => {
  connections = 0;
  server = createServer({ ...own }, (_request, response) => response.end('{"apps":[]}'));
  server.on('connection', () => (connections += 1));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.close();
  server.closeAllConnections();
});

const MUSTER_CLIENT_API_KEY = generateApiKey(systemRandom()).token.reveal();

test.each([
  ['apps watch', ['apps', 'watch'], 1],
  ['audit list --follow', ['audit', 'list', '--follow'], 1],
  ['limits --watch', ['limits', '--watch'], 1],
  ['apps create', ['apps', 'create', '--count', '2', '--prefix', 'e', '--save-codes', 'CODES'], 2],
])('one that was never right ends it: muster %s', async (_what, args, attempts) => {
  const env = {
    MUSTER_CLIENT_URL: url,
    MUSTER_CLIENT_OPS_URL: url,
    MUSTER_CLIENT_API_KEY,
    MUSTER_CLIENT_OPERATOR_TOKEN: 'x'.repeat(40),
  };
  const ended = await musterHere(
    args.map((word) => (word === 'CODES' ? join(root, 'codes') : word)),
    env,
  );
  const stderr = expect.stringContaining('its certificate is of an unknown authority') as string;
  expect([ended, connections]).toEqual([expect.objectContaining({ code: 1, stderr }), attempts]);
});

test('one of an authority that is believed here, for other names, is told with what to do', async () => {
  server.setSecureContext({ ...issuedBy(root, 'own', 'named', { names: 'DNS:a.b' }) });
  const env = { MUSTER_CLIENT_URL: url, MUSTER_CLIENT_API_KEY, MUSTER_CLIENT_CA_FILE: join(root, 'own.crt') };
  const { code, stderr } = await musterHere(['apps', 'list'], env);
  expect([code, stderr]).toEqual([
    1,
    expect.stringContaining('its certificate is for other names: use one of them, or'),
  ]);
});

test.each([
  ['for other names', 'own', /its certificate is for other names: use one of them, or.* MUSTER_CLIENT_DEVICE_URL/],
  ['of another file', 'other', /its CA file has neither its certificate nor the authority.* MUSTER_CLIENT_DEVICE_URL/],
])('a daemon tells of one %s with what to do as well, and where its address is from', async (_what, ca, words) => {
  server.setSecureContext({ ...issuedBy(root, 'own', 'named', { names: 'DNS:a.b' }) });
  const env = { MUSTER_CLIENT_DEVICE_URL: url, MUSTER_CLIENT_CA_FILE: join(root, `${ca}.crt`) };
  writeFileSync(join(root, 'code'), generateEnrollCode(systemRandom()).reveal());
  const named = [
    '--app',
    generateAppId(systemRandom()),
    '--code-file',
    join(root, 'code'),
    '--credential-file',
    join(root, `kept-${ca}`),
  ];
  const { code, stderr } = await musterHere(['agent', 'run', ...named, '--once'], env);
  expect([code, stderr]).toEqual([1, expect.stringMatching(words)]);
});

// The last one: what it trusts is trusted to the end of this file.
test('one that becomes wrong later is waited out', async () => {
  writeFileSync(join(root, 'ca'), own?.cert ?? '');
  mkdirSync(join(root, 'muster'), { mode: 0o700 });
  const contexts = { here: { url, caFile: join(root, 'ca') } };
  writeFileSync(join(root, 'muster/config.json'), JSON.stringify({ version: 1, current: 'here', contexts }));
  const call = invocation({ XDG_CONFIG_HOME: root, MUSTER_CLIENT_API_KEY }, {}, { terminal: recordedTerminal() });
  const owner = ownerOf(call, { patient: true });
  await owner.listApps();
  server.setSecureContext({ ...other });
  server.closeAllConnections();
  const before = connections;
  const listed = owner.listApps();
  await until(() => connections > before + 1);
  server.setSecureContext({ ...own });
  expect(await listed).toEqual({ apps: [] });
});
