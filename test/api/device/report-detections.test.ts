import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseRecord } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { detection, listReviews, sendDetections, type ReviewBody } from '../../support/records/detections.ts';
import { entriesOf } from '../../support/service/accounts.ts';
import {
  auditOf,
  changeAccount,
  deleteApp,
  issueCode,
  metric,
  readApp,
  revoke,
  setOtel,
} from '../../support/service/daemon.ts';
import {
  call,
  createApp,
  enroll,
  tenant,
  type Answer,
  type Muster,
  type Tenant,
} from '../../support/service/muster.ts';
import { describeOnce, onEachBackend } from '../../support/store/backends.ts';
import { faultyForRequests, type FaultyStore } from '../../support/store/faulty-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

const INVALID_REQUEST = { status: 400, body: { error: { code: 'invalid_request' } } };
const INVALID_CREDENTIAL = { status: 401, body: { error: { code: 'invalid_credential' } } };
const ENTRIES_MAX = 200;
const BYTES_MAX = 262_144;

interface Daemon extends Tenant {
  readonly appId: string;
  readonly credential: string;
}

onEachBackend('detections', (backend) => {
  const clock = new FakeClock();
  let muster: Muster;
  let store: FaultyStore;
  beforeAll(async () => {
    muster = await backend.fresh({
      clock,
      wrapStore: (real) => (store = faultyForRequests(real)),
      env: { MUSTER_DEVICE_RATE_PER_MINUTE: '1000' },
    });
  });
  afterAll(() => muster[Symbol.asyncDispose]());

  async function daemon(owner?: Tenant, connection: 'cloud' | 'private' = 'cloud'): Promise<Daemon> {
    const account = owner ?? (await tenant(muster));
    const app = await createApp(muster, account.apiKey);
    return { ...account, appId: app.appId, credential: await enroll(muster, app, connection) };
  }
  const send = (from: Pick<Daemon, 'credential'>, events: unknown): Promise<Answer> =>
    sendDetections(muster, from.credential, events);
  const queue = async ({ accountId }: Tenant): Promise<readonly ReviewBody[]> => await listReviews(muster, accountId);
  /** Everything of the app that lies in the store's queue. */
  const stored = async ({ accountId, appId }: Daemon): Promise<string[]> => [
    ...(await entriesOf(store, KEYS.review.under(accountId, appId))).map(({ value }) => value),
    ...(await entriesOf(store, KEYS.reviewIndex(accountId, appId))).map(({ value }) => value),
  ];
  const dropped = async ({ accountId, appId }: Daemon): Promise<number> => {
    const entry = await store.get(KEYS.reviewIndex(accountId, appId));
    return entry ? parseRecord(KEYS.reviewIndex, entry).record.dropped : 0;
  };
  const named = (from: number, to: number, more: object = {}): object[] =>
    Array.from({ length: to - from }, (_, i) => detection({ id: `event-${from + i}`, ...more }));

  test('is taken, and stands open in the queue of its account', async () => {
    const from = await daemon();
    const events = [
      detection({ id: 'a', at: '2026-05-31T23:00:00.5+02:00', rule: 'exec/shell', severity: 'critical' }),
    ];
    expect(await send(from, events)).toMatchObject({ status: 202, body: { accepted: 1 } });
    expect(await queue(from)).toEqual([
      {
        entryId: expect.stringMatching(new RegExp(`^${from.appId}-[0-9a-f]{32}$`)) as string,
        appId: from.appId,
        appName: 'app',
        at: '2026-05-31T21:00:00.500Z',
        receivedAt: new Date(clock.now()).toISOString(),
        rule: 'exec/shell',
        severity: 'critical',
        evidence: { hash: 'sha256:00' },
        status: 'open',
      },
    ]);
    expect(await queue(await tenant(muster))).toEqual([]);
  });

  test('a hundred at once are, in more than one commit; none is too', async () => {
    const from = await daemon();
    expect(await send(from, named(0, 100))).toMatchObject({ status: 202, body: { accepted: 100 } });
    expect(await queue(from)).toHaveLength(100);
    expect(await send(from, [])).toMatchObject({ status: 202, body: { accepted: 0 } });
    expect(await send(from, named(0, 101))).toMatchObject(INVALID_REQUEST);
  });

  describe('an id removes repeats', () => {
    test('within a body: the first counts', async () => {
      const from = await daemon();
      const events = [detection({ id: 'a', rule: 'first' }), detection({ id: 'a', rule: 'second' })];
      expect(await send(from, events)).toMatchObject({ status: 202, body: { accepted: 2 } });
      expect((await queue(from)).map(({ rule }) => rule)).toEqual(['first']);
    });

    test('later: the same answer, and nothing is written', async () => {
      const from = await daemon();
      await send(from, named(0, 3));
      const before = await queue(from);
      const changes = store.changes.length;
      clock.advance(1000);
      expect(await send(from, named(0, 3, { rule: 'other' }))).toMatchObject({ status: 202, body: { accepted: 3 } });
      expect(store.changes).toHaveLength(changes);
      expect(await queue(from)).toEqual(before);
      expect(await send(from, named(2, 4))).toMatchObject({ status: 202, body: { accepted: 2 } });
      expect(await queue(from)).toHaveLength(4);
    });

    test('of one app alone', async () => {
      const one = await daemon();
      const other = await daemon(one);
      for (const from of [one, other]) await send(from, [detection({ id: 'a' })]);
      expect((await queue(one)).map(({ appId }) => appId).sort()).toEqual([one.appId, other.appId].sort());
    });

    test('also where the answer was lost after the commit', async () => {
      const from = await daemon();
      store.fates.push('answer lost after commit');
      expect((await send(from, named(0, 100))).status).toBe(502);
      expect(await send(from, named(0, 100))).toMatchObject({ status: 202, body: { accepted: 100 } });
      expect(await queue(from)).toHaveLength(100);
      expect(await dropped(from)).toBe(0);
    });
  });

  describe('the evidence follows the account’s level of now', () => {
    const evidence = { hash: 'sha256:11', redacted: 'r-e-d-a-c-t-e-d', full: 'f-u-l-l' };
    const levels = {
      hashes: { hash: 'sha256:11' },
      redacted: { hash: 'sha256:11', redacted: 'r-e-d-a-c-t-e-d' },
      full: evidence,
    };

    test.each<[keyof typeof levels, (owner: Tenant) => Promise<unknown>, string]>([
      ['hashes', async () => undefined, 'never stored'],
      ['hashes', (owner) => setOtel(muster, owner.apiKey), 'stored without a level'],
      ['redacted', (owner) => setOtel(muster, owner.apiKey, { evidenceLevel: 'redacted' }), 'redacted'],
      ['full', (owner) => setOtel(muster, owner.apiKey, { evidenceLevel: 'full' }), 'full'],
      ['full', (owner) => setOtel(muster, owner.apiKey, { enabled: false, evidenceLevel: 'full' }), 'not enabled'],
      [
        'hashes',
        async (owner) => {
          await setOtel(muster, owner.apiKey, { evidenceLevel: 'full' });
          await call(`${muster.api}/v1/otel-config`, { method: 'DELETE', token: owner.apiKey });
        },
        'purged',
      ],
      [
        'hashes',
        async (owner) => {
          await setOtel(muster, owner.apiKey, { evidenceLevel: 'full' });
          await changeAccount(muster, owner.accountId, { entitlement: 'standard' });
        },
        'no longer Enterprise',
      ],
    ])('%s, and the rest is never stored (%s)', async (level, happens) => {
      const from = await daemon();
      await happens(from);
      const changes = store.changes.length;
      expect((await send(from, [detection({ evidence })])).status).toBe(202);
      const put = JSON.stringify(store.changes.slice(changes));
      expect((await queue(from)).map((entry) => entry.evidence)).toEqual([levels[level]]);
      expect(put.includes('r-e-d-a-c-t-e-d')).toBe(level !== 'hashes');
      expect(put.includes('f-u-l-l')).toBe(level === 'full');
    });

    test('a level that is lowered while the detection is under way is the one that counts', async () => {
      const from = await daemon();
      await setOtel(muster, from.apiKey, { evidenceLevel: 'full' });
      store.intercept('commit', 'before', () => setOtel(muster, from.apiKey, { evidenceLevel: 'hashes' }));
      expect((await send(from, [detection({ evidence })])).status).toBe(202);
      expect((await stored(from)).join('')).not.toMatch(/r-e-d|f-u-l-l/);
    });

    test('a downgrade of the account while it is under way, too', async () => {
      const from = await daemon();
      await setOtel(muster, from.apiKey, { evidenceLevel: 'full' });
      store.intercept('commit', 'before', () => changeAccount(muster, from.accountId, { entitlement: 'standard' }));
      expect((await send(from, [detection({ evidence })])).status).toBe(202);
      expect((await stored(from)).join('')).not.toMatch(/r-e-d|f-u-l-l/);
    });

    test('evidence that was stored under a wider level is cut when it is read, and shown again once it may be', async () => {
      const from = await daemon();
      await setOtel(muster, from.apiKey, { evidenceLevel: 'full' });
      await send(from, [detection({ evidence })]);
      for (const level of ['hashes', 'redacted', 'full'] as const) {
        await setOtel(muster, from.apiKey, { evidenceLevel: level });
        expect((await queue(from)).map((entry) => entry.evidence)).toEqual([levels[level]]);
      }
    });

    test('longer evidence is cut by code points', async () => {
      const from = await daemon();
      await setOtel(muster, from.apiKey, { evidenceLevel: 'full' });
      const texts = [
        { hash: 'x', redacted: '😀'.repeat(2048), full: 'é'.repeat(4096) },
        { hash: 'x', redacted: '😀'.repeat(2049), full: 'é'.repeat(4097) },
        { hash: 'x', redacted: `x${'😀'.repeat(2048)}`, full: '😀'.repeat(8000) },
      ];
      for (const [i, evidence] of texts.entries()) {
        expect((await send(from, [detection({ id: `${i}`, rule: `${i}`, evidence })])).status).toBe(202);
      }
      const told = (await queue(from)).toSorted((a, b) => (a.rule < b.rule ? -1 : 1)).map((entry) => entry.evidence);
      expect(told).toEqual([
        texts[0],
        texts[0],
        { hash: 'x', redacted: `x${'😀'.repeat(2047)}`, full: '😀'.repeat(4096) },
      ]);
    });
  });

  describeOnce(backend, 'the body', () => {
    const GOOD: readonly [object, string][] = [
      [{ id: 'i'.repeat(128), rule: 'r'.repeat(128), evidence: { hash: 'h'.repeat(128) } }, 'the longest names'],
      [{ id: ' ', rule: '~' }, 'one character'],
      [{ at: '2024-02-29T00:00:00Z' }, 'a leap day'],
      [{ at: '2026-06-01T12:00:00.123456+05:30' }, 'finer than a millisecond'],
      [{ at: '1970-01-01T00:00:00Z' }, 'the first instant'],
      [{ evidence: { hash: 'h', redacted: '', full: '\u0000\ud83d\ude00' } }, 'empty, and any Unicode text'],
      [{ unknown: [], evidence: { hash: 'h', unknown: 1 } }, 'unknown fields are ignored'],
    ];
    test('may have all of these', async () => {
      const from = await daemon();
      for (const [i, [event, what]] of GOOD.entries()) {
        const answer = await send(from, [detection({ id: `event-${i}`, ...event })]);
        expect(answer, `it has ${what}`).toMatchObject({ status: 202, body: { accepted: 1 } });
      }
      expect(await queue(from)).toHaveLength(GOOD.length);
    });

    const WRONG: readonly [object, string][] = [
      [{ id: undefined }, 'no id'],
      [{ id: '' }, 'an empty one'],
      [{ id: 'i'.repeat(129) }, 'too long'],
      [{ id: 'é' }, 'not ASCII'],
      [{ id: 'a\n' }, 'a control character'],
      [{ id: 7 }, 'no text'],
      [{ rule: '' }, 'no rule'],
      [{ rule: 'r'.repeat(129) }, 'a long one'],
      [{ severity: 'High' }, 'another case'],
      [{ severity: undefined }, 'no severity'],
      [{ at: undefined }, 'no instant'],
      [{ at: '2026-06-01T12:00:00' }, 'without an offset'],
      [{ at: '2026-06-01' }, 'a day'],
      [{ at: 'yesterday' }, 'a word'],
      [{ at: 1_780_000_000 }, 'a number'],
      [{ at: '2026-02-29T00:00:00Z' }, 'no leap year'],
      [{ at: '2026-13-01T00:00:00Z' }, 'no such month'],
      [{ at: '2026-06-01T24:00:01Z' }, 'no such hour'],
      [{ at: '2026-06-01T12:00:00+24:00' }, 'no such offset'],
      [{ at: '1969-12-31T23:59:59.999Z' }, 'before 1970'],
      [{ at: '1970-01-01T00:00:00+00:01' }, 'before 1970 by its offset'],
      [{ evidence: undefined }, 'no evidence'],
      [{ evidence: {} }, 'no hash'],
      [{ evidence: { hash: '' } }, 'an empty hash'],
      [{ evidence: { hash: 'h'.repeat(129) } }, 'a long hash'],
      [{ evidence: { hash: 'h', redacted: null } }, 'null is not omitted'],
      [{ evidence: { hash: 'h', redacted: '\ud800' } }, 'a lone surrogate'],
      [{ evidence: { hash: 'h', full: 7 } }, 'no text'],
    ];
    test('with an event that is wrong refuses that one alone, by its place, and keeps the others', async () => {
      const from = await daemon();
      for (const [at, [event, what]] of WRONG.entries()) {
        const answer = await send(from, [
          detection({ id: `good-${at}` }),
          detection(event),
          detection({ id: `other-${at}` }),
        ]);
        expect(answer, `it has ${what}`).toEqual({
          ...answer,
          status: 202,
          body: {
            accepted: 2,
            refused: [{ index: 1, code: 'invalid_request', message: expect.any(String) as string }],
          },
        });
      }
      expect(await queue(from)).toHaveLength(2 * WRONG.length);
    });

    test('says of a refused event which field breaks which rule, and never what stands there', async () => {
      const from = await daemon();
      const events = [null, 'x', [], detection({ severity: 'secret' }), detection({ evidence: { hash: 'secret\n' } })];
      const refused = (index: number, message: string) => ({ index, code: 'invalid_request', message });
      const answer = await send(from, events);
      expect(answer).toMatchObject({ status: 202 });
      expect(answer.body).toEqual({
        accepted: 0,
        refused: [
          refused(0, 'must be an object'),
          refused(1, 'must be an object'),
          refused(2, 'must be an object'),
          refused(3, 'severity: must be low, medium, high or critical'),
          refused(4, 'evidence.hash: must be printable ASCII'),
        ],
      });
      expect(await queue(from)).toEqual([]);
    });

    test('of a hundred events with one wrong is taken but for that one, and its repetition has the same answer', async () => {
      const from = await daemon();
      const events = named(0, 100).with(57, detection({ id: 'wrong', at: 'yesterday' }));
      const first = await send(from, events);
      expect(first).toMatchObject({ status: 202, body: { accepted: 99, refused: [{ index: 57 }] } });
      expect((await send(from, events)).body).toEqual(first.body);
      expect(await queue(from)).toHaveLength(99);
      expect((await send(from, named(0, 100))).body).toEqual({ accepted: 100 });
    });

    test('a body of another shape is 400', async () => {
      const { credential } = await daemon();
      const url = `${muster.device}/device/v1/detections`;
      for (const body of ['{}', '{', '[]', '', '{"events":{}}', '{"events":null}']) {
        expect(await call(url, { method: 'POST', token: credential, body }), `it is ${body}`).toMatchObject(
          INVALID_REQUEST,
        );
      }
    });

    test('a body of 64 KiB passes, and one of a byte more is 413', async () => {
      const from = await daemon();
      const body = JSON.stringify({ events: [detection({})], padding: '' });
      const padded = (more: number): string => body.replace('"padding":""', `"padding":"${'x'.repeat(more)}"`);
      const url = `${muster.device}/device/v1/detections`;
      const room = 65_536 - body.length;
      expect((await call(url, { method: 'POST', token: from.credential, body: padded(room) })).status).toBe(202);
      expect(await call(url, { method: 'POST', token: from.credential, body: padded(room + 1) })).toMatchObject({
        status: 413,
        body: { error: { code: 'payload_too_large' } },
      });
    });

    test('H7: a body in gzip or deflate is inflated, and one in br is 400', async () => {
      const { credential } = await daemon();
      const plain = Buffer.from(JSON.stringify({ events: [detection({})] }));
      const sent = (encoding: string, body: Buffer): Promise<Answer> =>
        call(`${muster.device}/device/v1/detections`, {
          method: 'POST',
          token: credential,
          body,
          headers: { 'content-encoding': encoding },
        });
      expect((await sent('gzip', gzipSync(plain))).status).toBe(202);
      expect((await sent('deflate', deflateSync(plain))).status).toBe(202);
      expect(await sent('br', brotliCompressSync(plain))).toMatchObject(INVALID_REQUEST);
    });
  });

  describe('bounded per app', () => {
    test(`${ENTRIES_MAX} entries: then the oldest go, and are counted`, async () => {
      const from = await daemon();
      const neighbour = await daemon(from);
      await send(neighbour, named(0, 1));
      const before = await metric(muster, 'muster_detections_dropped_total');
      await send(from, named(0, 100));
      await send(from, named(100, 200));
      expect(await dropped(from)).toBe(0);
      // 100 come and 100 go: more than one commit can hold.
      expect(await send(from, named(200, 300, { rule: 'new' }))).toMatchObject({
        status: 202,
        body: { accepted: 100 },
      });
      const entries = (await queue(from)).filter(({ appId }) => appId === from.appId);
      expect(entries).toHaveLength(ENTRIES_MAX);
      expect(entries.filter(({ rule }) => rule === 'new')).toHaveLength(100);
      // The newer ones of the old are left: sent again they are known.
      expect(await send(from, named(100, 200))).toMatchObject({ status: 202, body: { accepted: 100 } });
      expect(await dropped(from)).toBe(100);
      expect((await metric(muster, 'muster_detections_dropped_total')) - before).toBe(100);
      expect((await queue(from)).filter(({ appId }) => appId === neighbour.appId)).toHaveLength(1);
    });

    test('a repeat of what goes in that moment does not come back as a new entry', async () => {
      const from = await daemon();
      await send(from, named(0, 100, { rule: 'old' }));
      await send(from, named(100, 200));
      const mixed = [...named(0, 50, { rule: 'old' }), ...named(200, 250)];
      expect(await send(from, mixed)).toMatchObject({ status: 202, body: { accepted: 100 } });
      const rules = (await queue(from)).map(({ rule }) => rule);
      expect([rules.length, rules.filter((rule) => rule === 'old').length]).toEqual([ENTRIES_MAX, 50]);
      expect(await dropped(from)).toBe(50);
    });

    test(`${BYTES_MAX} bytes: few large ones make many small ones go`, async () => {
      const from = await daemon();
      await setOtel(muster, from.apiKey, { evidenceLevel: 'full' });
      await send(from, named(0, 100));
      await send(from, named(100, 190));
      const large = { hash: 'h', redacted: '\u0001'.repeat(2048), full: '\u0001'.repeat(4096) };
      for (let i = 0; i < 8; i += 1) {
        const events = [detection({ id: `large-${i}`, rule: 'large', evidence: large })];
        expect(await send(from, events)).toMatchObject({ status: 202, body: { accepted: 1 } });
      }
      const bytes = (await entriesOf(store, KEYS.review.under(from.accountId, from.appId))).map(
        ({ value }) => value.length,
      );
      expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(BYTES_MAX);
      const rules = (await queue(from)).map(({ rule }) => rule);
      expect(rules.filter((rule) => rule === 'large').length).toBeGreaterThanOrEqual(6);
      expect(await dropped(from)).toBe(198 - rules.length);
    });

    test('two daemons’ worth at once at the bound: never more, and nothing half-written', async () => {
      const from = await daemon();
      await send(from, named(0, 100));
      await send(from, named(100, 150));
      const answers = await Promise.all(
        [200, 300, 400, 500].map((first) => send(from, named(first, first + 80, { rule: String(first) }))),
      );
      const taken = answers.filter(({ status }) => status === 202);
      expect(answers.map(({ status }) => status).filter((status) => status !== 202 && status !== 502)).toEqual([]);
      expect(taken.length).toBeGreaterThan(0);
      const entries = await entriesOf(store, KEYS.review.under(from.accountId, from.appId));
      const entry = await store.get(KEYS.reviewIndex(from.accountId, from.appId));
      const index = entry && parseRecord(KEYS.reviewIndex, entry).record;
      const prefix = KEYS.review.under(from.accountId, from.appId).length;
      expect(entries).toHaveLength(ENTRIES_MAX);
      expect(index?.entries.map(([digest]) => digest).sort()).toEqual(entries.map(({ key }) => key.slice(prefix)));
      expect(index?.entries.map(([digest, bytes]) => [digest, bytes]).sort()).toEqual(
        entries.map(({ key, value }) => [key.slice(prefix), Buffer.byteLength(value)]),
      );
      if (taken.length === 4) expect(index?.dropped).toBe(150 + 4 * 80 - ENTRIES_MAX);
    });
  });

  describe('the daemons that may send', () => {
    test('not a private device: its detections do not pass through the service', async () => {
      const from = await daemon(undefined, 'private');
      expect(await send(from, [detection({})])).toMatchObject(INVALID_REQUEST);
      expect(await queue(from)).toEqual([]);
      // It is refused for what it is, before its body is read.
      expect(await send(from, 'x'.repeat(70_000))).toMatchObject(INVALID_REQUEST);
      const cloud = await daemon();
      expect((await send(cloud, 'x'.repeat(70_000))).status).toBe(413);
    });

    test('not a credential that nobody has, whatever the body', async () => {
      const answer = await send({ credential: `mst_dev_${'a'.repeat(43)}` }, 'junk');
      expect(answer).toMatchObject(INVALID_CREDENTIAL);
    });

    test.each<[string, (from: Daemon) => Promise<unknown>, object]>([
      ['revoked', (from) => revoke(muster, from.apiKey, from.appId), INVALID_CREDENTIAL],
      ['deleted', (from) => deleteApp(muster, from.apiKey, from.appId), INVALID_CREDENTIAL],
      [
        'another machine’s',
        async (from) => enroll(muster, await issueCode(muster, from.apiKey, from.appId)),
        INVALID_CREDENTIAL,
      ],
      [
        'of a disabled account',
        (from) => changeAccount(muster, from.accountId, { disabled: true }),
        { status: 401, body: { error: { code: 'account_disabled' } } },
      ],
    ])('not once %s, before or while the body is judged', async (_how, end, refused) => {
      const before = await daemon();
      await end(before);
      expect(await send(before, [detection({})])).toMatchObject(refused);
      for (const [operation, when] of [
        ['get', 'after'],
        ['commit', 'before'],
      ] as const) {
        const from = await daemon();
        store.intercept(operation, when, () => end(from));
        expect(await send(from, [detection({})])).toMatchObject(refused);
        expect(await stored(from)).toEqual([]);
      }
    });
  });

  test('a detection against the deletion of its app leaves nothing, whoever is faster', async () => {
    for (let round = 0; round < 3; round += 1) {
      const from = await daemon();
      await send(from, named(0, 5));
      const [sent, deleted] = await Promise.all([
        send(from, named(5, 100)),
        deleteApp(muster, from.apiKey, from.appId),
      ]);
      expect([202, 401]).toContain(sent.status);
      expect(deleted.status).toBe(204);
      expect(await stored(from)).toEqual([]);
      expect(await queue(from)).toEqual([]);
    }
  });

  test('a revocation keeps the entries', async () => {
    const from = await daemon();
    await send(from, named(0, 2));
    await revoke(muster, from.apiKey, from.appId);
    expect(await queue(from)).toHaveLength(2);
  });

  test('it is no change of the owner’s: no audit entry, no other app, no new head', async () => {
    const from = await daemon();
    const [audit, app] = [await auditOf(muster, from.accountId), await readApp(muster, from.apiKey, from.appId)];
    const changes = store.changes.length;
    await send(from, named(0, 2));
    expect(store.changes.slice(changes).map(({ quiet }) => quiet)).toEqual([true]);
    expect(await auditOf(muster, from.accountId)).toEqual(audit);
    expect(await readApp(muster, from.apiKey, from.appId)).toEqual(app);
  });

  test('the content that a daemon sends is in no log, no metric and no refusal', async () => {
    const from = await daemon();
    await setOtel(muster, from.apiKey, { evidenceLevel: 'full' });
    const told = 'content-of-the-machine';
    const evidence = { hash: told, redacted: told, full: told };
    expect((await send(from, [detection({ id: told, rule: told, evidence })])).status).toBe(202);
    const refusals = [
      await send(from, [detection({ id: `${told}é` })]),
      await send(from, [detection({ severity: told })]),
      await send(from, [detection({ at: told })]),
      await send(from, [detection({ evidence: { ...evidence, full: `${told}\ud800` } })]),
    ];
    for (const { body } of refusals) expect(body).toMatchObject({ accepted: 0, refused: [{ index: 0 }] });
    const texts = [...refusals.map(({ text }) => text), ...muster.logged, (await call(`${muster.ops}/metrics`)).text];
    expect(texts.filter((text) => text.includes(told))).toEqual([]);
    expect(JSON.stringify(await auditOf(muster, from.accountId))).not.toContain(told);
  });

  test('a store that is nearly full refuses new ones with 502, and still knows those it has', async () => {
    const from = await daemon();
    await send(from, named(0, 2));
    store.full = 0.8;
    const [again, more] = [await send(from, named(0, 2)), await send(from, named(0, 3))];
    store.full = 0.79;
    expect(again).toMatchObject({ status: 202, body: { accepted: 2 } });
    expect(more).toMatchObject({ status: 502, body: { error: { code: 'upstream_unavailable' } } });
    expect(await send(from, named(0, 3))).toMatchObject({ status: 202, body: { accepted: 3 } });
    store.full = undefined;
  });

  test('a store that is down is 502, and a conflict is tried again', async () => {
    const from = await daemon();
    store.down.add('commit');
    const down = await send(from, named(0, 1));
    store.down.delete('commit');
    expect(down.status).toBe(502);
    store.fates.push('conflict', 'conflict');
    expect((await send(from, named(0, 1))).status).toBe(202);
  });

  test('the rate of devices holds', async () => {
    await using other = await backend.fresh({ env: { MUSTER_DEVICE_RATE_PER_MINUTE: '2' } });
    const owner = await tenant(other);
    const credential = await enroll(other, await createApp(other, owner.apiKey));
    const statuses: number[] = [];
    for (let i = 0; i < 3; i += 1) statuses.push((await sendDetections(other, credential, [])).status);
    expect(statuses).toEqual([202, 202, 429]);
  });
});
