import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { vi } from 'vitest';

/**
 * A server in the place of an API server, for answers that a real one cannot be made to give.
 * @param home the folder that its kubeconfig is written to; the environment of this process names that file from then
 * on
 */
export async function answeringApiServer(home: string, answer: RequestListener): Promise<AsyncDisposable> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'a',
    contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
    clusters: [{ name: 'a', cluster: { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'a', user: {} }],
  };
  writeFileSync(join(home, 'config'), JSON.stringify(config));
  vi.stubEnv('KUBECONFIG', join(home, 'config'));
  return {
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
