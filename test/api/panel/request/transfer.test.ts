import { gunzipSync } from 'node:zlib';
import { once } from 'node:events';
import { Agent, request as sendRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { isCompressed, isTagged } from '../../../../src/api/contract/panel/reads.ts';
import type { Operation } from '../../../../src/api/contract/operation.ts';
import { OPERATIONS } from '../../../../src/api/panel/routes.ts';
import { LIMITS } from '../../../../src/domain/limits.ts';
import { ask, panelMuster, signedIn, type Browser, type PanelMuster } from '../../../support/panel/panel-users.ts';
import { tenant } from '../../../support/service/muster.ts';
import { onEachBackend } from '../../../support/store/backends.ts';

/* A page is not sent again what it has; the rest goes in gzip, unless its length would tell of a secret. */

/** The fields whose values must not be guessed by the length of an answer; each stands in one at least. */
const SECRETS = ['apiKey', 'enrollCode', 'url', 'options', 'providerUrl', 'evidence'];
/** Its `url` is the address of a listener. */
const OPEN = 'readAddresses';

/** The names of all fields of a schema. */
function fieldsOf(schema: z.core.$ZodType): ReadonlySet<string> {
  const { $defs, ...own } = z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any' });
  const names = new Set<string>();
  const walk = (part: unknown): void => {
    if (typeof part !== 'object' || part === null) return;
    for (const [key, value] of Object.entries(part)) {
      if (key === 'properties') for (const name of Object.keys(value as object)) names.add(name);
      walk(value);
    }
  };
  walk([own, $defs]);
  return names;
}

test('no answer with a secret is compressed, and every other one to a read is', () => {
  const found = new Set<string>();
  const judged = OPERATIONS.map((operation: Operation) => {
    const fields = new Set(operation.answers.flatMap(({ schema }) => (schema ? [...fieldsOf(schema)] : [])));
    const secrets = SECRETS.filter((name) => fields.has(name) && operation.id !== OPEN);
    for (const name of secrets) found.add(name);
    return { id: operation.id, secrets, operation };
  });
  expect([...found].toSorted()).toEqual(SECRETS.toSorted());
  for (const { id, secrets, operation } of judged) {
    const isRead = operation.method === 'get' && operation.answers.some(({ schema }) => schema !== undefined);
    expect([id, isCompressed(operation), isTagged(operation)]).toEqual([id, isRead && secrets.length === 0, isRead]);
  }
  expect(judged.filter(({ operation }) => isCompressed(operation)).length).toBeGreaterThan(25);
});

interface Sent {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
}

interface Scene {
  readonly accountId: string;
  readonly owner: Browser;
  readonly viewer: Browser;
  readonly operator: Browser;
  /** One request as it comes over the wire. */
  readonly send: (by: Browser, path: string, headers?: Record<string, string>, method?: string) => Promise<Sent>;
}

async function scene(panel: PanelMuster): Promise<Scene> {
  const { muster, store } = panel;
  const { accountId } = await tenant(muster);
  const [owner, viewer, operator] = await Promise.all([
    signedIn(store, { accounts: [{ accountId, role: 'owner' }] }),
    signedIn(store, { accounts: [{ accountId, role: 'viewer' }] }),
    signedIn(store, { operator: true }),
  ]);
  const { port } = muster.service.panel;
  const agent = new Agent();
  async function send(by: Browser, path: string, headers = {}, method = 'GET'): Promise<Sent> {
    const cookie = `muster_${port}=${by.token}`;
    const sent = sendRequest({ port, path: `/panel/v1${path}`, method, agent, headers: { cookie, ...headers } }).end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    return { status: answer.statusCode ?? 0, headers: answer.headers, bytes: await buffer(answer) };
  }
  return { accountId, owner, viewer, operator, send };
}

const GZIP = { 'accept-encoding': 'gzip, deflate, br' };

onEachBackend('what a page of the panel is sent', (backend) => {
  test('a read goes in gzip where the page takes it and it is long, and has the same tag either way', async () => {
    await using panel = await panelMuster(backend);
    const { accountId, owner, viewer, send } = await scene(panel);
    const names = Array.from({ length: 40 }, (_, index) => `edge ${index}`);
    const at = `/accounts/${accountId}/apps`;
    const batch = await ask(panel, owner, `${at}/batch`, {
      method: 'POST',
      body: { change: 'create', apps: names },
      headers: GZIP,
    });
    // 40 codes, and not compressed.
    expect([batch.status, batch.headers.get('content-encoding'), batch.headers.get('etag')]).toEqual([200, null, null]);
    const plain = await send(viewer, at);
    expect([plain.status, plain.headers['content-encoding'], plain.headers.vary]).toEqual([
      200,
      undefined,
      'Accept-Encoding',
    ]);
    expect(plain.headers['cache-control']).toBe('no-store, no-transform');
    expect(plain.bytes.length).toBeGreaterThan(LIMITS.compressedBytesMin);
    const inGzip = await send(viewer, at, GZIP);
    expect([inGzip.headers['content-encoding'], inGzip.headers.etag, inGzip.headers.vary]).toEqual([
      'gzip',
      plain.headers.etag,
      'Accept-Encoding',
    ]);
    expect(inGzip.bytes.length).toBeLessThan(plain.bytes.length / 3);
    expect(gunzipSync(inGzip.bytes).equals(plain.bytes)).toBe(true);
    const refused = await send(viewer, at, { 'accept-encoding': 'gzip;q=0, br' });
    expect([refused.headers['content-encoding'], refused.bytes.equals(plain.bytes)]).toEqual([undefined, true]);
    const head = await send(viewer, at, GZIP, 'HEAD');
    const { 'content-length': length, 'content-encoding': encoding, etag } = head.headers;
    expect([head.status, length, encoding, etag, head.bytes.length]).toEqual([
      200,
      String(inGzip.bytes.length),
      'gzip',
      plain.headers.etag,
      0,
    ]);
    const short = await send(viewer, `/accounts/${accountId}/rate-limit`, GZIP);
    expect([short.status, short.headers['content-encoding']]).toEqual([200, undefined]);
    const unknown = await send(viewer, `${at}/${'a'.repeat(20)}`, GZIP);
    expect([unknown.status, unknown.headers.etag, unknown.headers['content-encoding']]).toEqual([
      404,
      undefined,
      undefined,
    ]);
  });

  test('what a page has is 304 without a body, for the same user with the same role alone', async () => {
    await using panel = await panelMuster(backend);
    const { accountId, owner, viewer, operator, send } = await scene(panel);
    const at = `/accounts/${accountId}/otel-config`;
    const read = await send(viewer, at);
    const tag = read.headers.etag ?? '';
    expect(tag).toMatch(/^W\/"[0-9a-f]{32}"$/);
    for (const [named, method] of [
      [tag, 'GET'],
      [tag, 'HEAD'],
      [`"other", ${tag.slice(2)}`, 'GET'],
      [tag.replace(/"$/, '-gzip"'), 'GET'],
    ] as const) {
      const again = await send(viewer, at, { 'if-none-match': named, ...GZIP }, method);
      expect([again.status, again.bytes.length, again.headers.etag]).toEqual([304, 0, tag]);
      expect([again.headers.vary, again.headers['cache-control']]).toEqual([
        'Accept-Encoding',
        'no-store, no-transform',
      ]);
    }
    expect((await send(viewer, at, { 'if-none-match': 'W/"another"' })).status).toBe(200);
    // Their answers have the same bytes.
    for (const by of [owner, operator]) {
      const answer = await send(by, at, { 'if-none-match': tag });
      expect([answer.status, answer.bytes.equals(read.bytes)]).toEqual([200, true]);
    }
    // A right that was lost goes before the tag.
    const stranger = await signedIn(panel.store, {});
    expect((await send(stranger, at, { 'if-none-match': tag })).status).toBe(404);
    const saved = await ask(panel, owner, at, {
      method: 'PUT',
      body: { enabled: true, endpoint: 'https://a.example.com' },
      headers: { 'if-none-match': tag },
    });
    expect([saved.status, saved.headers.get('etag')]).toEqual([200, null]);
    expect((await send(viewer, at, { 'if-none-match': tag })).status).toBe(200);
  });

  test('a user whose role has changed gets the answer anew', async () => {
    await using panel = await panelMuster(backend);
    const { accountId, owner, send } = await scene(panel);
    const other = await signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] });
    const at = `/accounts/${accountId}/otel-config`;
    const read = await send(other, at);
    const path = `/accounts/${accountId}/members/${other.userId}`;
    const changed = await ask(panel, owner, path, { method: 'PATCH', body: { role: 'viewer' } });
    expect(changed.status).toBe(204);
    const again = await send(other, at, { 'if-none-match': read.headers.etag ?? '' });
    expect([again.status, again.bytes.equals(read.bytes)]).toEqual([200, true]);
  });
});
