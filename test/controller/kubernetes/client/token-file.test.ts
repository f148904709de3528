import { execFileSync } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { connectKubernetes } from '../../../../src/controller/kubernetes/client/http-kube-api.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

/* A kubeconfig with `tokenFile`: the token is read again while the operator runs, as kubectl and client-go do. */

const home = mkdtempSync(join(tmpdir(), 'muster-token-'));
afterAll(() => rmSync(home, { recursive: true }));
const LOOK_MS = 10_000;

/** A file that is replaced as a mounted Secret is. */
function replaced(name: string, text: string): void {
  writeFileSync(join(home, `${name}.new`), text);
  renameSync(join(home, `${name}.new`), join(home, name));
}

test('the token of the file is sent, read again after ten seconds, and at once after a 401', async () => {
  const seen: (string | undefined)[] = [];
  let status = 200;
  const server = createServer((request, response) => {
    seen.push(request.headers.authorization);
    response.writeHead(status, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ metadata: { name: 'one', uid: 'u', resourceVersion: '1' } }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const { port } = server.address() as AddressInfo;
    const config = {
      'current-context': 'a',
      contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
      clusters: [{ name: 'a', cluster: { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'a', user: { token: 'of-the-file-itself', tokenFile: 'token' } }],
    };
    writeFileSync(join(home, 'config'), JSON.stringify(config));
    const clock = new FakeClock();
    const metrics = { kubernetesAnswered: () => undefined };
    const api = connectKubernetes({ kubeconfig: join(home, 'config'), clock, metrics });
    const ask = async (): Promise<string | undefined> => {
      const { signal } = new AbortController();
      await api.get({ group: '', version: 'v1', plural: 'secrets' }, 'team', 'one', signal).catch(() => undefined);
      return seen.at(-1);
    };
    expect(await ask(), 'no file yet: the token of the kubeconfig').toBe('Bearer of-the-file-itself');
    replaced('token', 'first\n');
    clock.advance(LOOK_MS);
    expect(await ask()).toBe('Bearer first');
    replaced('token', 'second');
    clock.advance(LOOK_MS - 1);
    expect(await ask()).toBe('Bearer first');
    clock.advance(1);
    expect(await ask()).toBe('Bearer second');
    for (const broken of ['', 'two words', 'x'.repeat(70_000)]) {
      replaced('token', broken);
      clock.advance(LOOK_MS);
      expect(await ask(), `after ${broken.slice(0, 9)}`).toBe('Bearer second');
    }
    rmSync(join(home, 'token'));
    execFileSync('mkfifo', [join(home, 'token')]);
    clock.advance(LOOK_MS);
    expect(await ask(), 'at a pipe, into which nobody writes').toBe('Bearer second');
    replaced('token', 'third');
    status = 401;
    expect(await ask()).toBe('Bearer second');
    expect(await ask(), 'after the 401').toBe('Bearer third');
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
