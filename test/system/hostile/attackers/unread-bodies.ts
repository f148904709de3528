import { readdirSync } from 'node:fs';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { APIS, type ApiName } from '../../../../src/api/openapi/apis.ts';
import { PUBLIC_PATHS } from '../../../../src/api/operator/public-files.ts';
import { OPERATOR_TOKEN } from '../../../support/service/muster.ts';
import { args, inPlace, open, type AttackArgs } from './attacker.ts';

/*
 * Each connection asks for one thing, and reads nothing of the answer: for the paths that it is given, or for every
 * operation that reads and every file of the listener, in turns.
 */
const asked = args();
const { connections, tls, listener, reads = false } = asked;
const port = asked[listener];
const API: Readonly<Record<AttackArgs['listener'], ApiName>> = {
  api: 'v1',
  device: 'device',
  ops: 'operator',
  panel: 'panel',
};
const CREDENTIALS: Readonly<Record<AttackArgs['listener'], string>> = {
  api: `Authorization: Bearer ${asked.apiKey}`,
  device: `Authorization: Bearer ${asked.credential}`,
  ops: `Authorization: Bearer ${OPERATOR_TOKEN}`,
  panel: `Cookie: __Host-muster=${asked.session}; muster_${port}=${asked.session}`,
};
const FILES: Readonly<Record<AttackArgs['listener'], readonly string[]>> = {
  api: ['/'],
  device: ['/'],
  ops: [...PUBLIC_PATHS, '/metrics', '/livez', '/readyz'],
  panel: [
    '/',
    ...PUBLIC_PATHS,
    ...readdirSync('web/dist/assets').map((name) => `/assets/${name}`),
    ...readdirSync('web/dist/help').map((name) => `/help/${name.replace('.html', '')}`),
  ],
};

const idsIn = (path: string): string => path.replace(':accountId', asked.accountId).replaceAll(/:\w+/g, 'a'.repeat(20));
const paths = APIS[API[listener]].operations.filter(({ method }) => method === 'get').map(({ path }) => idsIn(path));
const wanted = asked.paths.length === 0 ? [...paths, ...FILES[listener]] : asked.paths.map(idsIn);

/** Resolves once the answer has begun, of which nothing is taken, or the connection is closed; or once it is read. */
const begun = (socket: Socket): Promise<void> =>
  new Promise((resolve, reject) => {
    socket.once('close', () => resolve());
    if (!reads) return void socket.once('readable', () => resolve());
    socket.once('data', (bytes: Buffer) => {
      if (!bytes.toString('latin1').startsWith('HTTP/1.1 200 '))
        reject(new Error(`it is not answered: ${bytes.toString()}`));
    });
    socket.resume();
  });

async function ask(number: number): Promise<void> {
  const path = wanted[number % wanted.length] ?? '/';
  const fields = [`Host: 127.0.0.1:${port}`, CREDENTIALS[listener], ...(reads ? ['Connection: close'] : [])];
  const text = `GET ${path} HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n`;
  const socket = await open(port);
  if (!tls) {
    socket.write(text);
    return await begun(socket);
  }
  const secure = connectTls({ socket, rejectUnauthorized: false });
  secure.on('error', () => undefined);
  await new Promise<void>((done) => secure.once('secureConnect', () => done()).once('close', () => done()));
  secure.write(text);
  await begun(secure);
}

for (let opened = 0; opened < connections; opened += 20) {
  await Promise.all(Array.from({ length: Math.min(20, connections - opened) }, (_, index) => ask(opened + index)));
}
inPlace({ paths: wanted.length });
setInterval(() => undefined, 1000);
