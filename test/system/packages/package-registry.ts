import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Manifest {
  readonly name: string;
  readonly version: string;
}

/**
 * A registry of npm on the loopback that has one package. npm follows the lock that a package carries where a registry
 * says that it has one, as registries do; from a file it does not.
 */
export async function packageRegistry(tarball: string, manifest: Manifest): Promise<AsyncDisposable & { url: string }> {
  const bytes = readFileSync(tarball);
  const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
  const { name, version } = manifest;
  const server = createServer((request, response) => {
    if (request.url === '/package.tgz') response.end(bytes);
    else if (decodeURIComponent(request.url ?? '') === `/${name}`) {
      const dist = { tarball: `${url}package.tgz`, integrity };
      const versions = { [version]: { ...manifest, _hasShrinkwrap: true, dist } };
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify({ name, 'dist-tags': { latest: version }, versions }));
    } else response.writeHead(404).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return {
    url,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
