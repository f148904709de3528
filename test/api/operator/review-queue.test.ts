import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import {
  decide,
  detection,
  listReviews,
  reviewPage,
  sendDetections,
  type ReviewBody,
} from '../../support/records/detections.ts';
import { entriesOf } from '../../support/service/accounts.ts';
import { auditOf, changeAccount, deleteApp, metric, setOtel } from '../../support/service/daemon.ts';
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
const NOT_FOUND = { status: 404, body: { error: { code: 'not_found' } } };

onEachBackend('the review queue', (backend) => {
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

  interface Filled extends Tenant {
    readonly appId: string;
    readonly credential: string;
  }
  /** An app with so many open entries. */
  async function filled(count: number, owner?: Tenant): Promise<Filled> {
    const account = owner ?? (await tenant(muster));
    const app = await createApp(muster, account.apiKey);
    const credential = await enroll(muster, app);
    for (let from = 0; from < count; from += 100) {
      const events = Array.from({ length: Math.min(100, count - from) }, (_, i) => detection({ id: `e-${from + i}` }));
      expect((await sendDetections(muster, credential, events)).status).toBe(202);
    }
    return { ...account, appId: app.appId, credential };
  }
  async function onlyEntry(owner: Tenant): Promise<ReviewBody> {
    const [entry] = await listReviews(muster, owner.accountId);
    if (!entry) throw new Error('the queue is empty');
    return entry;
  }

  describe('in pages', () => {
    let owner: Filled;
    let whole: readonly ReviewBody[];
    beforeAll(async () => {
      owner = await filled(4);
      await filled(3, owner);
      await filled(0, owner);
      whole = await listReviews(muster, owner.accountId);
      // Every second one is decided.
      for (const [i, { entryId }] of whole.entries()) {
        if (i % 2 === 1) await decide(muster, owner.accountId, entryId, { status: 'dismissed' });
      }
      whole = await listReviews(muster, owner.accountId);
      await filled(2);
    });

    test.each([1, 2, 3, 6, 7, 8, 1000])(
      'pages of %i: to the end, each entry once, in the same order',
      async (limit) => {
        expect(whole).toHaveLength(7);
        expect(whole.map(({ entryId }) => entryId)).toEqual(whole.map(({ entryId }) => entryId).toSorted());
        expect(await listReviews(muster, owner.accountId, `limit=${limit}`)).toEqual(whole);
        const { body } = await reviewPage(muster, owner.accountId, `limit=${limit}`);
        expect(body['entries']).toHaveLength(Math.min(limit, whole.length));
        expect('next' in body).toBe(limit < whole.length);
      },
    );

    test.each([
      ['open', 4, 1],
      ['open', 4, 3],
      ['open', 4, 4],
      ['dismissed', 3, 2],
      ['dismissed', 3, 3],
      ['confirmed', 0, 2],
    ])('?status=%s: the %i of that status, in pages of %i', async (status, count, limit) => {
      const expected = whole.filter((entry) => entry.status === status);
      expect(expected).toHaveLength(count);
      expect(await listReviews(muster, owner.accountId, `status=${status}&limit=${limit}`)).toEqual(expected);
    });

    test.each([
      'limit=0',
      'limit=1001',
      'status=Open',
      'status=',
      'after=',
      'after=a/b',
      'after=zzz',
      `after=${'a'.repeat(53)}`,
    ])('?%s is refused', async (query) => {
      expect(await reviewPage(muster, owner.accountId, query)).toMatchObject(INVALID_REQUEST);
    });

    test('an entry that is gone still tells where the next page begins', async () => {
      const other = await filled(3);
      const { body } = await reviewPage(muster, other.accountId, 'limit=1');
      await deleteApp(muster, other.apiKey, other.appId);
      expect((await reviewPage(muster, other.accountId, `after=${String(body['next'])}`)).body).toEqual({
        entries: [],
      });
    });

    test('an account that does not exist has none', async () => {
      expect(await reviewPage(muster, 'a'.repeat(16))).toMatchObject(NOT_FOUND);
      expect(await reviewPage(muster, 'A')).toMatchObject(NOT_FOUND);
      expect(await call(`${muster.ops}/operator/v1/accounts/${owner.accountId}/review-queue`)).toMatchObject({
        status: 401,
        body: { error: { code: 'invalid_token' } },
      });
    });
  });

  test('one request reads a bounded part of the store, and says where to go on', async () => {
    const owner = await filled(200);
    for (let i = 0; i < 5; i += 1) await filled(200, owner);
    const last = (await listReviews(muster, owner.accountId, 'limit=1000')).at(-1);
    await decide(muster, owner.accountId, last?.entryId ?? '', { status: 'confirmed' });
    const lists = store.calls.list;
    const { body } = await reviewPage(muster, owner.accountId, 'status=confirmed&limit=5');
    expect(body).toEqual({ entries: [], next: expect.any(String) as string });
    expect(store.calls.list - lists).toBe(10);
    const found = await listReviews(muster, owner.accountId, 'status=confirmed&limit=5');
    expect(found.map(({ entryId }) => entryId)).toEqual([last?.entryId]);
  });

  test('large entries make short pages', async () => {
    const owner = await filled(0);
    await setOtel(muster, owner.apiKey, { evidenceLevel: 'full' });
    const evidence = { hash: 'h', full: '\u0001'.repeat(4096) };
    const apps = [owner, ...(await Promise.all(Array.from({ length: 5 }, () => filled(0, owner))))];
    for (const { credential } of apps) {
      for (let i = 0; i < 10; i += 1) {
        await sendDetections(muster, credential, [detection({ id: `large-${i}`, evidence })]);
      }
    }
    const { body, text } = await reviewPage(muster, owner.accountId, 'limit=1000');
    expect(text.length).toBeLessThan(1_200_000);
    expect(body['next']).toEqual(expect.any(String));
    expect(await listReviews(muster, owner.accountId, 'limit=1000')).toHaveLength(60);
  });

  describe('a decision', () => {
    test('is kept with its instant and its note, and is told at once', async () => {
      const owner = await filled(1);
      const before = await onlyEntry(owner);
      clock.advance(5000);
      const decided = await decide(muster, owner.accountId, before.entryId, {
        status: 'confirmed',
        note: 'seen by two',
      });
      const expected = {
        ...before,
        status: 'confirmed',
        note: 'seen by two',
        decidedAt: new Date(clock.now()).toISOString(),
      };
      expect(decided).toMatchObject({ status: 200, body: expected });
      expect(await onlyEntry(owner)).toEqual(expected);
    });

    test('the note stays until another comes or it is emptied; the instant follows the status', async () => {
      const owner = await filled(1);
      const { entryId } = await onlyEntry(owner);
      const step = async (body: object): Promise<unknown> => {
        clock.advance(1000);
        const { status, note, decidedAt } = (await decide(muster, owner.accountId, entryId, body))
          .body as Partial<ReviewBody>;
        return { status, note, age: decidedAt === undefined ? undefined : clock.now() - Date.parse(decidedAt) };
      };
      expect(await step({ status: 'dismissed', note: 'a' })).toEqual({ status: 'dismissed', note: 'a', age: 0 });
      expect(await step({ status: 'dismissed' })).toEqual({ status: 'dismissed', note: 'a', age: 1000 });
      expect(await step({ status: 'dismissed', note: 'b' })).toEqual({ status: 'dismissed', note: 'b', age: 2000 });
      expect(await step({ status: 'confirmed' })).toEqual({ status: 'confirmed', note: 'b', age: 0 });
      expect(await step({ status: 'confirmed', note: '' })).toEqual({
        status: 'confirmed',
        note: undefined,
        age: 1000,
      });
      expect(await step({ status: 'open', note: 'c' })).toEqual({ status: 'open', note: 'c', age: undefined });
      expect(await step({ status: 'confirmed' })).toEqual({ status: 'confirmed', note: 'c', age: 0 });
    });

    test('is in the audit once, without the words of its note', async () => {
      const owner = await filled(1);
      const { entryId, appId } = await onlyEntry(owner);
      const body = { status: 'dismissed', note: 'Mallory was on holiday' };
      await decide(muster, owner.accountId, entryId, body);
      await decide(muster, owner.accountId, entryId, body);
      const audit = (await auditOf(muster, owner.accountId)).filter(({ action }) => action === 'review.decided');
      expect(audit).toMatchObject([
        { actor: 'operator', appId, detail: { entryId, from: 'open', status: 'dismissed', noted: true } },
      ]);
      expect(JSON.stringify(await auditOf(muster, owner.accountId))).not.toContain('Mallory');
      expect(muster.logged.join('')).not.toContain('Mallory');
    });

    test('survives the daemon’s sending the same event again', async () => {
      const owner = await filled(1);
      const { entryId } = await onlyEntry(owner);
      await decide(muster, owner.accountId, entryId, { status: 'dismissed', note: 'known' });
      await sendDetections(muster, owner.credential, [detection({ id: 'e-0' })]);
      expect(await onlyEntry(owner)).toMatchObject({ status: 'dismissed', note: 'known' });
    });

    test('shows the evidence at the level of now', async () => {
      const owner = await filled(0);
      await setOtel(muster, owner.apiKey, { evidenceLevel: 'full' });
      const evidence = { hash: 'h', redacted: 'r', full: 'f' };
      await sendDetections(muster, owner.credential, [detection({ evidence })]);
      const { entryId } = await onlyEntry(owner);
      const decided = (): Promise<Answer> => decide(muster, owner.accountId, entryId, { status: 'confirmed' });
      expect((await decided()).body['evidence']).toEqual(evidence);
      await changeAccount(muster, owner.accountId, { entitlement: 'standard' });
      expect((await decided()).body['evidence']).toEqual({ hash: 'h' });
    });

    describeOnce(backend, 'and its body', () => {
      test.each<[object | string, boolean, string]>([
        [{ status: 'confirmed', note: '😀'.repeat(500) }, true, 'the longest note'],
        [{ status: 'confirmed', note: '😀'.repeat(501) }, false, 'one more'],
        [{ status: 'confirmed', note: '\ud800' }, false, 'a lone surrogate'],
        [{ status: 'confirmed', note: null }, false, 'null is not omitted'],
        [{ status: 'confirmed', note: 1 }, false, 'no text'],
        [{ status: 'Confirmed' }, false, 'another case'],
        [{ note: 'only a note' }, false, 'no status'],
        [{}, false, 'nothing'],
        ['{', false, 'no JSON'],
      ])('%.60j → passes: %j (%s)', async (body, passes) => {
        const owner = await filled(1);
        const { entryId } = await onlyEntry(owner);
        const answer = await decide(muster, owner.accountId, entryId, body);
        if (passes) expect(answer.status).toBe(200);
        else expect(answer).toMatchObject(INVALID_REQUEST);
        expect((await onlyEntry(owner)).status).toBe(passes ? 'confirmed' : 'open');
      });
    });

    test('a decision on an unknown entry, or on another account’s, is 404', async () => {
      const [owner, other] = [await filled(1), await filled(1)];
      const { entryId } = await onlyEntry(owner);
      const body = { status: 'confirmed' };
      const unknown = [
        `${owner.appId}-${'0'.repeat(32)}`,
        `${'a'.repeat(20)}-${entryId.slice(21)}`,
        entryId.slice(0, -1),
        `${entryId}0`,
        entryId.toUpperCase(),
        entryId.slice(21),
        entryId.replace('-', '%2F'),
        'x',
      ];
      for (const id of unknown) expect(await decide(muster, owner.accountId, id, body)).toMatchObject(NOT_FOUND);
      expect(await decide(muster, other.accountId, entryId, body)).toMatchObject(NOT_FOUND);
      expect(await decide(muster, 'a'.repeat(16), entryId, body)).toMatchObject(NOT_FOUND);
      expect((await decide(muster, owner.accountId, entryId, body)).status).toBe(200);
      await deleteApp(muster, owner.apiKey, owner.appId);
      expect(await decide(muster, owner.accountId, entryId, body)).toMatchObject(NOT_FOUND);
    });

    test('two at once are both made, one after the other', async () => {
      for (let round = 0; round < 3; round += 1) {
        const owner = await filled(1);
        const { entryId } = await onlyEntry(owner);
        const answers = await Promise.all([
          decide(muster, owner.accountId, entryId, { status: 'confirmed', note: 'one' }),
          decide(muster, owner.accountId, entryId, { status: 'dismissed', note: 'other' }),
        ]);
        expect(answers.map(({ status }) => status)).toEqual([200, 200]);
        const audit = (await auditOf(muster, owner.accountId)).filter(({ action }) => action === 'review.decided');
        const { status } = await onlyEntry(owner);
        // The second one saw the first: the audit tells of open, then of what the first made of it.
        const froms = audit.map(({ detail }) => detail['from']);
        expect(new Set(froms)).toEqual(new Set(['open', status === 'confirmed' ? 'dismissed' : 'confirmed']));
      }
    });

    test('against the deletion of the app, or the end of the entry, never brings it back', async () => {
      const owner = await filled(1);
      const { entryId } = await onlyEntry(owner);
      store.intercept('commit', 'before', () => deleteApp(muster, owner.apiKey, owner.appId));
      expect(await decide(muster, owner.accountId, entryId, { status: 'confirmed' })).toMatchObject(NOT_FOUND);
      expect(await entriesOf(store, KEYS.review.under(owner.accountId))).toEqual([]);

      const full = await filled(200);
      const old = (await listReviews(muster, full.accountId, 'limit=1000'))[0];
      const newer = Array.from({ length: 100 }, (_, i) => detection({ id: `new-${i}` }));
      const newest = Array.from({ length: 100 }, (_, i) => detection({ id: `newest-${i}` }));
      store.intercept('commit', 'before', async () => {
        await sendDetections(muster, full.credential, newer);
        await sendDetections(muster, full.credential, newest);
      });
      expect(await decide(muster, full.accountId, old?.entryId ?? '', { status: 'confirmed' })).toMatchObject(
        NOT_FOUND,
      );
      expect(await entriesOf(store, KEYS.review.under(full.accountId, full.appId))).toHaveLength(200);
    });

    test('is counted as a change, and a store that is down is 502', async () => {
      const owner = await filled(1);
      const { entryId } = await onlyEntry(owner);
      const series = 'muster_mutations_total{action="review.decided"}';
      const before = await metric(muster, series);
      store.outage(true);
      const down = await decide(muster, owner.accountId, entryId, { status: 'confirmed' });
      store.outage(false);
      expect(down).toMatchObject({ status: 502, body: { error: { code: 'upstream_unavailable' } } });
      expect((await decide(muster, owner.accountId, entryId, { status: 'confirmed' })).status).toBe(200);
      expect((await metric(muster, series)) - before).toBe(1);
    });
  });
});
