import { afterAll, beforeAll, expect, test } from 'vitest';
import { nameOf, TABLES, type Row } from '../../../support/doors/callers-table.ts';
import { openCallers, type CallersScene } from '../../../support/doors/callers-scene.ts';
import { operatorToken, TOLD, type Callers, type Headers } from '../../../support/doors/callers.ts';
import type { DocumentName } from '../../../support/openapi/documents.ts';
import { onEachBackend } from '../../../support/store/backends.ts';
import { requestRecords } from '../../../support/store/request-records.ts';

/* CONTRACT.md#callers: a credential at another listener than its own is none, for every operation there. */

interface Stray {
  readonly what: string;
  /** The listener at which it is good, and is not tried. */
  readonly home?: DocumentName;
  readonly headers: (callers: Callers) => Promise<Headers>;
}

const secretOf = ({ authorization = '', cookie = '' }: Headers): string =>
  authorization.slice('Bearer '.length) || (cookie.split('=')[1] ?? '');
const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` });
const asBearer =
  (api: DocumentName, caller: string): Stray['headers'] =>
  async (callers) =>
    bearer(secretOf(await callers.credential(api, caller)));
/** The secret in the place of a session's token. */
const asCookie =
  (api: DocumentName, caller: string): Stray['headers'] =>
  async (callers) => ({
    cookie: `muster_${callers.muster.service.panel.port}=${secretOf(await callers.credential(api, caller))}`,
  });

const STRAYS: readonly Stray[] = [
  { what: 'an API key', home: 'v1', headers: asBearer('v1', 'full') },
  { what: 'an API key that reads', home: 'v1', headers: asBearer('v1', 'read') },
  { what: 'an API key that enrolls', home: 'v1', headers: asBearer('v1', 'enroll') },
  { what: 'a device credential', home: 'device', headers: asBearer('device', 'daemon') },
  {
    what: 'an enrollment code',
    home: 'device',
    headers: ({ own }) => Promise.resolve(bearer(own.app.enrollCode)),
  },
  {
    what: 'an operator token',
    home: 'operator',
    headers: () => Promise.resolve(bearer(operatorToken('operator'))),
  },
  { what: 'an operator token of a role', home: 'operator', headers: asBearer('operator', 'support') },
  { what: 'an access token', home: 'panel', headers: asBearer('panel', 'token: owner') },
  { what: 'the cookie of an operator', home: 'panel', headers: (callers) => callers.credential('panel', 'operator') },
  { what: 'the token of a session as a bearer', headers: asBearer('panel', 'operator') },
  { what: 'an API key as a cookie', headers: asCookie('v1', 'full') },
  { what: 'an operator token as a cookie', headers: asCookie('operator', 'operator') },
  { what: 'an access token as a cookie', headers: asCookie('panel', 'token: owner') },
];

const CODES: Readonly<Record<DocumentName, string>> = {
  v1: 'invalid_key',
  device: 'invalid_credential',
  operator: 'invalid_token',
  panel: 'invalid_session',
};

const isForNobody = (row: Row): boolean => row.cells.get('nobody')?.status === undefined;

onEachBackend('a credential at another listener', (backend) => {
  let scene: CallersScene;
  beforeAll(async () => {
    scene = await openCallers(backend);
  });
  afterAll(() => scene[Symbol.asyncDispose]());

  test.each(STRAYS)('$what is refused for every operation, and nothing is written', async ({ home, headers }) => {
    const by = await headers(scene.callers);
    const before = await requestRecords(scene.store);
    for (const row of TABLES.flatMap(({ api, rows }) => (api === home ? [] : rows))) {
      const got = await scene.callers.ask(row, by, scene.callers.own.ids);
      const isPanelBearer = row.api === 'panel' && 'authorization' in by;
      if (isForNobody(row) && !isPanelBearer) {
        const nobody = await scene.callers.ask(row, {}, scene.callers.own.ids);
        expect([nameOf(row), got.status, got.code]).toEqual([nameOf(row), nobody.status, nobody.code]);
        continue;
      }
      const code = isPanelBearer ? 'invalid_token' : CODES[row.api];
      expect([nameOf(row), got.status, got.code]).toEqual([nameOf(row), 401, code]);
      expect([nameOf(row), TOLD.test(got.text)]).toEqual([nameOf(row), false]);
    }
    expect(await requestRecords(scene.store)).toEqual(before);
  });

  test('a cookie beside an access token, and a bearer beside a cookie, gives no more', async () => {
    const rows = TABLES.flatMap(({ api, rows: all }) => (api === 'panel' ? all : []));
    const [cookie, token, key] = await Promise.all([
      scene.callers.credential('panel', 'operator'),
      scene.callers.credential('panel', 'token: viewer'),
      scene.callers.credential('v1', 'full'),
    ]);
    const before = await requestRecords(scene.store);
    for (const row of rows) {
      const status = row.cells.get('token: viewer')?.status;
      const mixed = await scene.callers.ask(row, { ...cookie, ...key }, scene.callers.own.ids);
      expect([nameOf(row), mixed.status, mixed.code]).toEqual([nameOf(row), 401, 'invalid_token']);
      if (status === undefined) continue;
      expect([
        nameOf(row),
        (await scene.callers.ask(row, { ...cookie, ...token }, scene.callers.own.ids)).status,
      ]).toEqual([nameOf(row), status]);
    }
    expect(await requestRecords(scene.store)).toEqual(before);
  });
});
