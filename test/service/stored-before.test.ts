import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readBackup } from '../../src/domain/backup/file-format.ts';
import { parseRecord } from '../../src/domain/records/codec.ts';
import { createBindings } from '../../src/domain/resource-bindings/bindings.ts';
import { HEAD_KEY, type Entry, type Store } from '../../src/store/port.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { AuditEntry } from '#client';
import { BOUND } from '../fixtures/stored-before/bound-resources.ts';
import { frontOf } from '../fixtures/stored-before/front.ts';
import { BEGINS, ENDPOINT, HEADER, IDEMPOTENCY_KEY, liveIn, type Made } from '../fixtures/stored-before/lived-in.ts';
import {
  BACKUP,
  copiedSqlite,
  emptyPlace,
  etcdRange,
  fillEtcd,
  KNOWN,
  PREFIX,
} from '../fixtures/stored-before/stored.ts';
import { findEtcd } from '../support/etcd/etcd-binary.ts';
import { EtcdCluster } from '../support/etcd/etcd.ts';
import { keyLine } from '../support/records/key-lines.ts';
import { entriesOf } from '../support/service/accounts.ts';
import { sendEnroll } from '../support/service/daemon.ts';
import { musterHere } from '../support/service/muster-command.ts';
import { call, Muster, OPERATOR_TOKEN, poll, type Answer } from '../support/service/muster.ts';
import { onEachBackend } from '../support/store/backends.ts';
import { FakeClock } from '../support/time/fake-clock.ts';
import { until } from '../support/time/until.ts';
import { rawKey } from '../support/store/raw-key.ts';
import { kindOfKey } from '../../src/domain/records/keys.ts';

/* Stores and a backup that commit 78c38ca wrote (test/fixtures/stored-before): today's program goes on with each. */

const ETCD = findEtcd();

/** The entries of an audit, in an order that no program makes. */
const byRequest = (audit: object): readonly string[] =>
  (audit as { entries: readonly object[] }).entries.map((entry) => JSON.stringify(entry)).toSorted();

/** The same of today, without what ids of then tell of names; what was not kept then is not there. */
const asAnsweredThen = (audit: object): readonly string[] =>
  byRequest({
    entries: (audit as { entries: readonly AuditEntry[] }).entries.map((entry) => {
      expect(entry).not.toHaveProperty('targetName');
      const { actorName = 'operator', target: _target, ...asThen } = entry;
      expect(actorName).toBe('operator');
      return asThen;
    }),
  });

/** A review queue without the names of now, which answers of then had not. */
const withoutAppNames = (queue: object): object => ({
  ...queue,
  entries: (queue as { entries: readonly { appName?: string }[] }).entries.map(({ appName, ...asThen }) => {
    expect(appName).toEqual(expect.any(String));
    return asThen;
  }),
});

interface Opened extends AsyncDisposable {
  readonly muster: Muster;
  readonly store: Store;
  readonly clock: FakeClock;
}

async function open(
  { endedAt }: Made,
  place: Disposable & { readonly dataDir: string },
  env: Readonly<Record<string, string>> = {},
): Promise<Opened> {
  let store: Store | undefined;
  const clock = new FakeClock(endedAt + 1000);
  const muster = await Muster.start({
    dataDir: place.dataDir,
    clock,
    env,
    wrapStore: (real) => (store = real),
  });
  if (!store) throw new Error('The store was not opened.');
  const dispose = async (): Promise<void> => {
    await muster[Symbol.asyncDispose]();
    place[Symbol.dispose]();
  };
  return { muster, store, clock, [Symbol.asyncDispose]: dispose };
}

async function openEtcd(): Promise<Opened> {
  const cluster = await EtcdCluster.start({ binary: ETCD ?? '', unsafeNoFsync: true });
  await fillEtcd(cluster);
  const env = { MUSTER_STORE: `etcd:${cluster.member.url}`, MUSTER_ETCD_PREFIX: PREFIX };
  const opened = await open(KNOWN.etcd, emptyPlace(), env);
  const dispose = async (): Promise<void> => {
    await opened[Symbol.asyncDispose]();
    await cluster[Symbol.asyncDispose]();
  };
  return { ...opened, [Symbol.asyncDispose]: dispose };
}

async function openRestored(): Promise<Opened> {
  const place = emptyPlace();
  const restored = await musterHere(['restore', BACKUP, '--keep-codes'], {
    MUSTER_DATA_DIR: place.dataDir,
    MUSTER_KEY_FILE: join(place.dataDir, 'keys'),
    MUSTER_OPERATOR_TOKEN: OPERATOR_TOKEN,
  });
  expect(restored).toMatchObject({ code: 0 });
  return await open(KNOWN.sqlite, place);
}

const WAYS = [
  { name: 'an embedded store', made: KNOWN.sqlite, isRestored: false, start: () => open(KNOWN.sqlite, copiedSqlite()) },
  { name: 'a range of etcd', made: KNOWN.etcd, isRestored: false, start: openEtcd },
  { name: 'a backup', made: KNOWN.sqlite, isRestored: true, start: openRestored },
] as const;

for (const { name, made, isRestored, start } of WAYS) {
  const { lived, boundApiKey } = made;
  describe.skipIf(start === openEtcd && ETCD === undefined)(`${name} of the commit before`, () => {
    let opened: Opened;
    beforeAll(async () => {
      opened = await start();
    });
    afterAll(() => opened[Symbol.asyncDispose]());

    const ask = (apiKey: string, target: string, more: object = {}): Promise<Answer> => {
      const [method = '', path = ''] = target.split(' ');
      return call(opened.muster.api + path, { method, token: apiKey, ...more });
    };
    const operator = async (path: string): Promise<Answer['body']> => {
      const { status, body } = await call(`${opened.muster.ops}/operator/v1${path}`, { token: OPERATOR_TOKEN });
      expect(status).toBe(200);
      return body;
    };

    test('has the apps, the audit, the review queue and the metered nights as they were answered then', async () => {
      const { accountId } = lived;
      expect((await ask(lived.apiKey, 'GET /v1/apps')).body).toEqual(lived.apps);
      // That program listed entries of one instant by chance.
      expect(asAnsweredThen(await operator(`/accounts/${accountId}/audit?limit=1000`))).toEqual(byRequest(lived.audit));
      expect(withoutAppNames(await operator(`/accounts/${accountId}/review-queue`))).toEqual(lived.reviews);
      const { accounts, total } = await operator('/usage?month=2026-03');
      expect({ accounts, total }).toEqual({ accounts: lived.usage.accounts, total: lived.usage.total });
    });

    test('delivers the header to the credential that is in force, and nothing to the others', async () => {
      const { steady, returned, revoked, deleted } = lived;
      const known = await poll(opened.muster, steady.credential, { 'if-none-match': steady.etag });
      // A restored content has a name of its own, so that no daemon takes it for another one.
      expect(known.status).toBe(isRestored ? 200 : 304);
      for (const { credential } of [steady, returned]) {
        const { status, body } = await poll(opened.muster, credential);
        expect(status).toBe(200);
        expect(body['otel']).toMatchObject({ endpoint: ENDPOINT, headers: { Authorization: HEADER } });
      }
      for (const credential of [revoked.credential, deleted.credential, returned.formerCredential]) {
        expect((await poll(opened.muster, credential)).status).toBe(401);
      }
    });

    test('gives the answer of the create again under its Idempotency-Key', async () => {
      const again = await ask(lived.apiKey, 'POST /v1/apps', {
        body: { name: lived.named.name },
        headers: { 'idempotency-key': IDEMPOTENCY_KEY },
      });
      expect([again.status, again.body]).toEqual([201, lived.named.body]);
    });

    test('takes the code that is open, and no code that is spent', async () => {
      expect((await sendEnroll(opened.muster, lived.revoked)).status).toBe(401);
      expect((await sendEnroll(opened.muster, lived.pending)).status).toBe(200);
    });

    test('refuses the disabled account, and knows the account of the custom resource', async () => {
      expect((await ask(lived.disabled.apiKey, 'GET /v1/apps')).body).toMatchObject({
        error: { code: 'account_disabled' },
      });
      const { body } = await ask(boundApiKey, 'GET /v1/apps');
      expect(body).toMatchObject({ apps: [{ appId: BOUND.appId, name: 'bound' }] });
      const bindings = createBindings(opened.store, []);
      const { accountId, appId, accountUid, appUid } = BOUND;
      expect((await bindings.get(accountUid))?.record).toMatchObject({ kind: 'FleetAccount', accountId });
      expect((await bindings.get(appUid))?.record).toMatchObject({ kind: 'FleetApp', accountId, appId });
    });

    test('counts the requests of the last minute, which a backup does not have', async () => {
      expect((await ask(lived.busy.apiKey, 'GET /v1/apps')).status).toBe(isRestored ? 200 : 429);
    });

    test('continues the chain over the audit, and verifies it', async () => {
      let found: Answer['body'] = {};
      await until(async () => {
        opened.clock.advance(1000);
        found = await operator(`/accounts/${lived.accountId}/audit/verification`);
        return found['unsealed'] === 0;
      });
      expect(found).toMatchObject({ faults: [] });
    });
  });
}

async function sqliteEntries(): Promise<readonly Entry[]> {
  using place = copiedSqlite();
  await using store = await openSqliteStore(join(place.dataDir, 'muster.db'));
  return await entriesOf(store, '');
}

async function backupEntries(): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  async function* bytes(): AsyncGenerator<Uint8Array> {
    yield readFileSync(BACKUP);
  }
  for await (const piece of readBackup(bytes())) if ('entry' in piece) entries.push(piece.entry);
  return entries;
}

const etcdEntries = async (): Promise<readonly Entry[]> =>
  etcdRange().flatMap(({ revision, written }) =>
    written.map(([key, value]) => ({ key: rawKey(key), value, revision })),
  );

describe('a record that the commit before wrote', () => {
  test.each([
    ['an embedded store', sqliteEntries],
    ['a range of etcd', etcdEntries],
    ['a backup', backupEntries],
  ])('keeps every field and value when today writes it again: %s', async (_name, read) => {
    const entries = await read();
    expect(entries.length).toBeGreaterThan(100);
    for (const entry of entries) {
      // Its value is no record.
      if (entry.key === HEAD_KEY) continue;
      const kind = kindOfKey(entry.key);
      if (!kind) throw new Error(`No kind of record is declared for ${entry.key}.`);
      const value = JSON.stringify(parseRecord(kind, entry).record);
      expect([entry.key, JSON.parse(value)]).toEqual([entry.key, JSON.parse(entry.value)]);
    }
  });
});

/** The beginning of the shape of a configuration with its header. */
const CONFIGURATION =
  'd/a/*/otel {revision:number,tag:string,at:number,config:{enabled:boolean,endpoint:string,evidenceLevel:string,' +
  'header:{keyNumber:number,wrappedKey:string,box:string}';

/** The shapes that have a new field since: an older version keeps it, as its schemas are loose (ADR 0023). */
const ADDED: Readonly<Record<string, string>> = Object.fromEntries<string>([
  ...['chain/*', 'chain/operator'].map((key): readonly [string, string] => {
    const block = 'number:number,digest:string';
    const shape = `${key} {${block},at:number,through:number,base:{${block}},cutting:boolean`;
    return [`${shape}}`, `${shape},own:{bytes:number,number:number,base:number}}`];
  }),
  [`${CONFIGURATION}}}`, `${CONFIGURATION},keptFrom:number}}`],
  ['used/* {keys:[[number|string]]}', 'used/* {keys:[[number|string]],calls:[[[number]|number|string]]}'],
]);

/** The kinds of records that came since, outside of what an older version reads. */
const SINCE = /^(?:revision|fleet-history|told)\/|^telling$/;

/** The keys of a run that stopped do not have these, or not always. */
const TRANSIENT = /^(?:leader$|replica\/|pin\/|rate(?:-ages)?\/|compaction$|purge\/)/;
/** Only the embedded store of the fixture was backed up. */
const OF_BACKUP = /^last-backup |"action":"backup\.begun"/;

/** Entries that came since: of what becomes so by itself, and nobody does. */
const BY_ITSELF = /"action":"(?:night\.metered|app\.silent|app\.back|key\.expir|code\.expiring|rollout\.|quota\.near)/;

/** Entries of the audit keep the names of then since; the fields before them are as they were. */
const NAMES = /,(?:actor|target)Name:string/g;

/**
 * The kinds of keys, each with the shapes of its values: the fields in the order in which they are written, and the
 * type of each.
 */
function shapesOf(entries: readonly Entry[]): readonly string[] {
  const shapes = entries
    .filter(({ key, value }) => !TRANSIENT.test(key) && !SINCE.test(key) && !BY_ITSELF.test(value))
    .filter(({ key, value }) => !OF_BACKUP.test(`${key} ${value}`) && !`${key} ${value}`.includes(BOUND.accountId))
    .map(({ key, value }) => {
      const kind = key.replaceAll(/(?<=\/)(?:[\w-]*\d[\w-]*|[\w-]{12,})(?=\/|$)/g, '*');
      return `${kind} ${key === HEAD_KEY ? 'text' : shapeOf(JSON.parse(value))}`;
    });
  return [...new Set(shapes.map((shape) => shape.replaceAll(NAMES, '')))].toSorted();
}

function shapeOf(value: unknown): string {
  if (Array.isArray(value)) return `[${[...new Set(value.map(shapeOf))].toSorted().join('|')}]`;
  if (typeof value !== 'object' || value === null) return typeof value;
  return `{${Object.entries(value)
    .map(([field, content]) => `${field}:${shapeOf(content)}`)
    .join()}}`;
}

onEachBackend('today writes the same keys with the same fields in the same order as the commit before', (backend) => {
  test('through three days with something of everything', async () => {
    const clock = new FakeClock(BEGINS);
    let store: Store | undefined;
    await using muster = await backend.fresh({
      clock,
      env: { MUSTER_PRICE_PER_DAEMON_MONTH: '7.50' },
      wrapStore: (real) => (store = real),
    });
    if (!store) throw new Error('The store was not opened.');
    const addKey = (): void => appendFileSync(join(muster.dataDir, 'keys'), keyLine(2));
    const front = frontOf(muster.service, OPERATOR_TOKEN);
    await liveIn({ front, clock, addKey });
    const before = backend.name === 'sqlite' ? await sqliteEntries() : await etcdEntries();
    expect(shapesOf(await entriesOf(store, ''))).toEqual(shapesOf(before).map((shape) => ADDED[shape] ?? shape));
  });
});
