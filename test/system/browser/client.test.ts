import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { createServer, request as requestOf, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve, sep } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { Muster, tenant } from '../../support/service/muster.ts';
import { findChromium, NO_CHROMIUM, openChromium, visit } from './chromium.ts';

/* The client for TypeScript in a real browser: a page of the same origin as the API, as behind one proxy. */

const ROOT = resolve(import.meta.dirname, '../../..');
const chromium = findChromium();
const title = 'the client runs in a browser';

/** What the page does with the client; the module is its own, so this text runs as it stands. */
const WALK = `async ({ url, apiKey }) => {
  const { OwnerClient, MusterError } = await import(url + '/client/index.js');
  const owner = new OwnerClient({ url, apiKey });
  const { appId } = await owner.createApp({ name: 'from a page' });
  const seen = [];
  for await (const { type, app } of owner.watchApps()) { seen.push(type + ' ' + app.name); break; }
  await owner.deleteApp(appId);
  const code = await owner.readApp(appId).catch((error) => error instanceof MusterError && error.code);
  return { seen, code };
}`;

/** Serves the built client, and hands everything below /v1 on. */
function siteOf(folder: string, api: string): Server {
  return createServer((request: IncomingMessage, response: ServerResponse) => {
    const { url = '', method, headers } = request;
    if (url.startsWith('/v1/')) {
      const passed = requestOf(api + url, { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      request.pipe(passed);
    } else if (url.startsWith('/client/')) {
      const file = join(folder, url.slice('/client/'.length));
      const found = file.startsWith(folder + sep) && existsSync(file);
      response.writeHead(found ? 200 : 404, { 'content-type': 'text/javascript' });
      response.end(found ? readFileSync(file) : undefined);
    } else {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>page</title>');
    }
  });
}

test.skipIf(chromium === undefined)(chromium === undefined ? `${title} (skipped: ${NO_CHROMIUM})` : title, async () => {
  const folder = scratchDirectory('client-in-browser');
  try {
    const tsc = join(ROOT, 'node_modules/.bin/tsc');
    await promisify(execFile)(process.execPath, [tsc, '-p', join(ROOT, 'clients/typescript'), '--outDir', folder]);
    await using muster = await Muster.start();
    const { apiKey } = await tenant(muster);
    const site = siteOf(folder, muster.api).listen(0, '127.0.0.1');
    await once(site, 'listening');
    const url = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
    const browser = await openChromium(chromium ?? '');
    try {
      await using visited = await visit(browser);
      await visited.page.goto(url);
      expect(await visited.page.evaluate(`(${WALK})(${JSON.stringify({ url, apiKey })})`)).toEqual({
        seen: ['added from a page'],
        code: 'not_found',
      });
      expect(visited.faults).toEqual([]);
    } finally {
      await browser.close();
      site.closeAllConnections();
      site.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
