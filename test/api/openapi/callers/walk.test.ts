import { afterAll, beforeAll, expect, test } from 'vitest';
import { COLUMNS, nameOf, rowAt, type Row } from '../../../support/doors/callers-table.ts';
import { openCallers, type CallersScene } from '../../../support/doors/callers-scene.ts';
import { MISSING, TOLD, type Got, type Headers, type Ids } from '../../../support/doors/callers.ts';
import type { DocumentName } from '../../../support/openapi/documents.ts';
import { onEachBackend } from '../../../support/store/backends.ts';
import { requestRecords } from '../../../support/store/request-records.ts';

/*
 * CONTRACT.md#callers: each cell of the table by the front door. A caller asks on its own account, on one of somebody
 * else and on one that is not there. What refuses is asked for records that are there, with a body that would change
 * them.
 */

/** The codes with which an API refuses a caller. */
const CODES: Readonly<Record<DocumentName, Readonly<Record<401 | 403 | 404, string>>>> = {
  v1: { 401: 'invalid_key', 403: 'forbidden', 404: 'not_found' },
  device: { 401: 'invalid_credential', 403: 'forbidden', 404: 'not_found' },
  operator: { 401: 'invalid_token', 403: 'forbidden', 404: 'not_found' },
  panel: { 401: 'invalid_session', 403: 'forbidden', 404: 'not_found' },
};
/** No answer to a caller that is let in. */
const REFUSING: ReadonlySet<string | undefined> = new Set([
  ...Object.values(CODES).flatMap((codes) => [codes[401], codes[403]]),
  'rate_limited',
  'upstream_unavailable',
]);

/** The column that tells of a caller of one account, on another one. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  owner: 'of another account',
  viewer: 'of another account',
  'of another account': 'of another account',
  'token: owner': 'token: another account',
  'token: viewer': 'token: another account',
  'token: another account': 'token: another account',
};
/** The caller that may do everything there. */
const FULL: Readonly<Record<DocumentName, string>> = {
  v1: 'full',
  device: 'daemon',
  operator: 'operator',
  panel: 'operator',
};

const elsewhereOf = (caller: string): string => ELSEWHERE[caller] ?? caller;
/** To a caller of another account the one that is its own for others is the one of somebody else. */
const isElsewhere = (caller: string): boolean => Object.values(ELSEWHERE).includes(caller);
const statusOf = (row: Row, caller: string) => row.cells.get(caller)?.status;

const isOfAccount = ({ path }: Row): boolean => path.includes('{accountId}');
const isOfRecord = ({ path }: Row): boolean => path.includes('{');
/** Tells whether the record belongs to what stands before it in the path, or to the caller. */
const isOwned = (row: Row): boolean =>
  isOfRecord(row) && (row.api === 'v1' || row.path.startsWith('/panel/v1/me/') || /\{.*\{/.test(row.path));

/** The columns with those of their rows of which something holds; without the columns that have none. */
const columnsWhere = (holds: (row: Row, caller: string) => boolean) =>
  COLUMNS.map(({ api, caller, rows }) => ({ api, caller, rows: rows.filter((row) => holds(row, caller)) })).filter(
    ({ rows }) => rows.length > 0,
  );

/** Tells whether it is for some callers alone: others are judged by what they send. */
const isOfSome = ({ api, cells }: Row): boolean =>
  api === 'v1' || api === 'operator' || cells.get('of another account')?.status !== undefined;
/** The answers that the examples get for what they say, where a caller is let in. */
const OTHERWISE: ReadonlyMap<string, string> = new Map([
  ['PUT /panel/v1/accounts/{accountId}/otel-config', 'changed_meanwhile'],
  ['POST /panel/v1/accounts/{accountId}/otel-config/restore', 'changed_meanwhile'],
  ['POST /panel/v1/accounts/{accountId}/otel-config/test', 'conflict'],
]);

/** All that an answer tells. */
const saidBy = ({ status, text, headers }: Got): readonly unknown[] => [status, text, headers];

const isRefused = (row: Row, caller: string): boolean => statusOf(row, caller) !== undefined;
const REFUSED = columnsWhere(isRefused);
// The cells that are open in part stand in partial.test.ts.
const OPEN = columnsWhere((row, caller) => !isRefused(row, caller) && row.cells.get(caller)?.note === undefined);
const OWNED = columnsWhere((row, caller) => !isRefused(row, caller) && isOwned(row));
const BEYOND = columnsWhere(
  (row, caller) => !isRefused(row, caller) && isOfAccount(row) && isRefused(row, elsewhereOf(caller)),
);

const BATCH = 'POST /panel/v1/accounts/{accountId}/apps/batch';
const batch =
  (change: string) =>
  ({ appId }: Ids) => ({ body: { change, apps: [appId] } });
const tokenOf = ({ accountId }: Ids) => ({ body: { name: 'report', accountId, role: 'viewer' } });
const followed = ({ accountId = '' }: Ids) => ({ query: `?account=${accountId}` });
/** Requests whose body or query names a record. */
const NAMED = [
  { caller: 'owner', operation: BATCH, request: batch('issue-code') },
  { caller: 'token: owner', operation: BATCH, request: batch('issue-code') },
  { caller: 'support', operation: BATCH, request: batch('revoke') },
  { caller: 'owner', operation: BATCH, request: batch('delete') },
  { caller: 'owner', operation: 'POST /panel/v1/me/access-tokens', request: tokenOf },
  { caller: 'owner', operation: 'GET /panel/v1/events', request: followed },
] as const;

onEachBackend('each cell of the table of callers', (backend) => {
  let scene: CallersScene;
  beforeAll(async () => {
    scene = await openCallers(backend);
  });
  afterAll(() => scene[Symbol.asyncDispose]());

  /** Holds an answer to a status that refuses. */
  function refuses(got: Got, row: Row, status: 401 | 403 | 404): void {
    const where = nameOf(row);
    expect([where, got.status, got.code]).toEqual([where, status, CODES[row.api][status]]);
    expect([where, TOLD.test(got.text)]).toEqual([where, false]);
  }

  /** The same of the account of somebody else and of one that is not there: nobody learns which of them is which. */
  async function refusesElsewhere(row: Row, by: Headers, status: 401 | 403 | 404): Promise<void> {
    const [foreign, missing] = await Promise.all([
      scene.callers.ask(row, by, scene.callers.foreign.ids),
      scene.callers.ask(row, by, MISSING),
    ]);
    refuses(foreign, row, status);
    expect([nameOf(row), ...saidBy(foreign)]).toEqual([nameOf(row), ...saidBy(missing)]);
  }

  test.each(REFUSED)('$api: $caller is refused, and nothing is written or told', async ({ api, caller, rows }) => {
    const by = await scene.callers.credentials(api, caller, rows.length);
    const before = await requestRecords(scene.store);
    for (const [at, row] of rows.entries()) {
      const status = statusOf(row, caller) ?? 404;
      const own = await scene.callers.ask(row, by(at), scene.callers.own.ids);
      refuses(own, row, status);
      const there = statusOf(row, elsewhereOf(caller));
      if (isOfRecord(row) && there !== undefined && !isElsewhere(caller)) await refusesElsewhere(row, by(at), there);
      if (isOfRecord(row) && there === status) {
        const missing = await scene.callers.ask(row, by(at), MISSING);
        expect([nameOf(row), ...saidBy(missing)]).toEqual([nameOf(row), ...saidBy(own)]);
      }
      if (row.method !== 'GET') {
        // The caller is judged before the body.
        const broken = await scene.callers.ask(row, by(at), scene.callers.own.ids, { body: { noSuchField: 1 } });
        expect([nameOf(row), ...saidBy(broken)]).toEqual([nameOf(row), ...saidBy(own)]);
        continue;
      }
      const head = await scene.callers.ask(row, by(at), scene.callers.own.ids, { method: 'HEAD' });
      expect([nameOf(row), head.status, head.text]).toEqual([nameOf(row), status, '']);
    }
    expect(await requestRecords(scene.store)).toEqual(before);
  });

  test.each(BEYOND)(
    '$api: $caller is refused on another account what it may do on its own',
    async ({ api, caller, rows }) => {
      const by = await scene.callers.credentials(api, caller, rows.length);
      const before = await requestRecords(scene.store);
      for (const [at, row] of rows.entries())
        await refusesElsewhere(row, by(at), statusOf(row, elsewhereOf(caller)) ?? 404);
      expect(await requestRecords(scene.store)).toEqual(before);
    },
  );

  test.each(OWNED)('$api: $caller gets nothing of others by a path of its own', async ({ api, caller, rows }) => {
    const by = await scene.callers.credentials(api, caller, rows.length);
    const before = await requestRecords(scene.store);
    for (const [at, row] of rows.entries()) {
      const foreign = await scene.callers.ask(row, by(at), crossed(row, scene.callers.foreign.ids));
      const missing = await scene.callers.ask(row, by(at), crossed(row, MISSING));
      expect([nameOf(row), ...saidBy(foreign)]).toEqual([nameOf(row), ...saidBy(missing)]);
      expect([nameOf(row), foreign.status]).toEqual([nameOf(row), 404]);
      expect([nameOf(row), TOLD.test(foreign.text)]).toEqual([nameOf(row), false]);
    }
    expect(await requestRecords(scene.store)).toEqual(before);
  });

  test.each(OPEN)('$api: $caller is let in, as the one who may do everything', async ({ api, caller, rows }) => {
    const by = await scene.callers.credentials(api, caller, rows.length);
    const full = await scene.callers.credentials(api, caller === 'nobody' ? caller : FULL[api], rows.length);
    for (const [at, row] of rows.entries()) {
      const where = nameOf(row);
      const ids = await idsFor(row);
      // A session of its own for what ends it.
      const mine = row.path.endsWith('/sign-out') ? await scene.callers.credential(api, caller) : by(at);
      const got = await scene.callers.ask(row, mine, ids);
      expect([where, got.status, REFUSING.has(got.code)]).toEqual([where, got.status, false]);
      // Whoever reaches every account is told of one that is not there.
      if (isOfAccount(row) && elsewhereOf(caller) === caller)
        expect([where, (await scene.callers.ask(row, mine, MISSING)).code]).toEqual([where, 'not_found']);
      if (row.method !== 'GET') {
        if (isOfSome(row)) expect([where, got.code]).toEqual([where, OTHERWISE.get(where)]);
        continue;
      }
      // There is no provider here; everything else that is read is there.
      expect([where, got.status === 404]).toEqual([where, row.path.includes('/provider')]);
      expect([where, got.status]).toEqual([where, (await scene.callers.ask(row, full(at), ids)).status]);
      const head = await scene.callers.ask(row, mine, ids, { method: 'HEAD' });
      expect([where, head.status, head.text]).toEqual([where, got.status, '']);
    }
  });

  test.each(NAMED)('$caller gets nothing of what $operation names of another account', async (named) => {
    const { caller, operation, request } = named;
    const [row, by] = [rowAt('panel', operation), await scene.callers.credential('panel', caller)];
    const before = await requestRecords(scene.store);
    const [foreign, missing] = [
      await scene.callers.ask(row, by, scene.callers.own.ids, request(scene.callers.foreign.ids)),
      await scene.callers.ask(row, by, scene.callers.own.ids, request(MISSING)),
    ];
    expect([foreign.status, foreign.text]).toEqual([missing.status, missing.text]);
    expect(foreign.text).toContain('"code":"not_found"');
    expect(await requestRecords(scene.store)).toEqual(before);
    // The caller's own records are let in.
    const own = await scene.callers.ask(row, by, scene.callers.own.ids, request(scene.callers.own.ids));
    expect([own.status < 300, own.text.includes('"error"')]).toEqual([true, false]);
  });

  /** A read is of what is there, a change of what is new, and one of a person's own records of none. */
  async function idsFor(row: Row): Promise<Ids> {
    if (row.method === 'GET') return scene.callers.own.ids;
    return isOfSome(row) ? await scene.callers.fresh(row) : MISSING;
  }

  /** Ids for a path: of the first of several records the caller's own, and of the others those that are given. */
  function crossed({ path }: Row, ids: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    const [first = '', ...others] = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
    return { ...ids, ...(others.length > 0 && { [first]: scene.callers.own.ids[first] ?? '' }) };
  }
});
