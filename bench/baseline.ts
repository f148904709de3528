import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Etcd3 } from 'etcd3';
import express from 'express';
import { answerBench } from './answering.ts';

/*
 * The baselines that Muster is compared with, in a process of its own: a bare Express hello by a router like Muster's, a raw
 * node:http hello, and an Express that makes one plain npm-etcd3 transaction per request (where an etcd is given).
 */
const hello = { hello: 'world' };
const listening = (server: ReturnType<typeof createServer>): Promise<number> =>
  new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)));

const app = express();
const router = express.Router({ caseSensitive: true, strict: true });
app.use(router);
router.get('/hello', (_request, response) => void response.json(hello));
const [etcdUrl] = process.argv.slice(2);
if (etcdUrl !== undefined) {
  const client = new Etcd3({ hosts: etcdUrl });
  router.post('/create', async (_request, response) => {
    const key = `baseline/${randomUUID()}`;
    await client
      .if(key, 'Create', '==', 0)
      .then(client.put(key).value('x'.repeat(400)))
      .commit();
    response.status(201).json(hello);
  });
}
const raw = createServer((_request, response) => {
  const body = JSON.stringify(hello);
  response.writeHead(200, ['Content-Type', 'application/json', 'Content-Length', String(body.length)]).end(body);
});

const ports = { express: await listening(createServer(app)), raw: await listening(raw) };
answerBench();
process.send?.(ports);
