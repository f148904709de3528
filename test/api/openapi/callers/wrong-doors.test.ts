import { rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Store } from '../../../../src/store/port.ts';
import { nameOf, TABLES, type Row } from '../../../support/doors/callers-table.ts';
import { Callers, environment, operatorToken, TOLD, type Headers } from '../../../support/doors/callers.ts';
import type { DocumentName } from '../../../support/openapi/documents.ts';
import { scratchDirectory } from '../../../support/run/scratch-directory.ts';
import type { Muster } from '../../../support/service/muster.ts';
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
  const directory = scratchDirectory('wrong-doors');
  let muster: Muster;
  let store: Store;
  let callers: Callers;
  beforeAll(async () => {
    muster = await backend.fresh({ env: environment(directory), wrapStore: (real) => (store = real) });
    callers = await Callers.on(muster, store);
  });
  afterAll(async () => {
    await muster[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true });
  });

  test.each(STRAYS)('$what is refused for every operation, and nothing is written', async ({ home, headers }) => {
    const by = await headers(callers);
    const before = await requestRecords(store);
    for (const row of TABLES.flatMap(({ api, rows }) => (api === home ? [] : rows))) {
      const got = await callers.ask(row, by, callers.own.ids);
      const isPanelBearer = row.api === 'panel' && 'authorization' in by;
      if (isForNobody(row) && !isPanelBearer) {
        const nobody = await callers.ask(row, {}, callers.own.ids);
        expect([nameOf(row), got.status, got.code]).toEqual([nameOf(row), nobody.status, nobody.code]);
        continue;
      }
      const code = isPanelBearer ? 'invalid_token' : CODES[row.api];
      expect([nameOf(row), got.status, got.code]).toEqual([nameOf(row), 401, code]);
      expect([nameOf(row), TOLD.test(got.text)]).toEqual([nameOf(row), false]);
    }
    expect(await requestRecords(store)).toEqual(before);
  });

  test('a cookie beside an access token, and a bearer beside a cookie, gives no more', async () => {
    const rows = TABLES.flatMap(({ api, rows: all }) => (api === 'panel' ? all : []));
    const [cookie, token, key] = await Promise.all([
      callers.credential('panel', 'operator'),
      callers.credential('panel', 'token: viewer'),
      callers.credential('v1', 'full'),
    ]);
    const before = await requestRecords(store);
    for (const row of rows) {
      const status = row.cells.get('token: viewer')?.status;
      const mixed = await callers.ask(row, { ...cookie, ...key }, callers.own.ids);
      expect([nameOf(row), mixed.status, mixed.code]).toEqual([nameOf(row), 401, 'invalid_token']);
      if (status === undefined) continue;
      expect([nameOf(row), (await callers.ask(row, { ...cookie, ...token }, callers.own.ids)).status]).toEqual([
        nameOf(row),
        status,
      ]);
    }
    expect(await requestRecords(store)).toEqual(before);
  });
});
