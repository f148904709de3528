import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { BilledMuster } from '../../support/metering/billed-muster.ts';
import { ledgerNight, seed } from '../../support/metering/seeded-ledger.ts';
import { call, OPERATOR_TOKEN } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { rawPut } from '../../support/store/raw-key.ts';

const INVALID_REQUEST = { status: 400, body: { error: { code: 'invalid_request' } } };
const NOBODY = 'a'.repeat(16);

onEachBackend('usage, as it is asked for', (backend) => {
  let billed: BilledMuster;
  const clock = new FakeClock(Date.UTC(2026, 5, 15, 12));
  beforeAll(async () => {
    billed = await BilledMuster.start(backend, clock);
  });
  afterAll(() => billed[Symbol.asyncDispose]());

  describe('formats', () => {
    let plain: string;
    beforeAll(async () => {
      plain = await billed.account('Zoë');
      await billed.ledger(
        plain,
        { day: '2025-01-30', activeDaemons: 1, price: '0.50' },
        { day: '2025-01-31', activeDaemons: 2, price: '0.50', late: true },
      );
    });
    const HEADER = '"month","accountId","name","day","activeDaemons","late","price","currency","amount","final"\r\n';

    test('CSV: a header line and a row a night', async () => {
      const answer = await billed.usage(`?month=2025-01&accountId=${plain}`, 'text/csv');
      expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present');
      expect(answer.text).toBe(
        `${HEADER}"2025-01","${plain}","Zoë","2025-01-30","1","false","0.50","EUR","0.02","true"\r\n` +
          `"2025-01","${plain}","Zoë","2025-01-31","2","true","0.50","EUR","0.03","true"\r\n`,
      );
      expect((await billed.usage(`?month=2024-12&accountId=${plain}`, 'text/csv')).text).toBe(HEADER);
    });

    test('CSV: the amounts of an account add up to its amount of the month, in the digits of the currency', async () => {
      const yen = await billed.account('yen');
      const night = { activeDaemons: 10, price: '7', currency: 'JPY' };
      await billed.ledger(yen, ...['01', '02', '03'].map((day) => ({ ...night, day: `2025-02-${day}` })));
      const query = `?month=2025-02&accountId=${yen}`;
      const rows = (await billed.usage(query, 'text/csv')).text.split('\r\n').slice(1, -1);
      expect(rows.map((row) => row.split(',').slice(6).join(','))).toEqual([
        '"7","JPY","3","true"',
        '"7","JPY","2","true"',
        '"7","JPY","3","true"',
      ]);
      expect((await billed.bodyOf(query)).accounts[0]?.amountMinor).toBe(8);
    });

    test('CSV: the rows of a month that goes on are not final, and its JSON says so, too', async () => {
      const now = await billed.account('now');
      await billed.ledger(now, { day: '2026-06-14', activeDaemons: 30, price: '0.50' });
      const query = `?month=2026-06&accountId=${now}`;
      const { text } = await billed.usage(query, 'text/csv');
      expect(text).toBe(`${HEADER}"2026-06","${now}","now","2026-06-14","30","false","0.50","EUR","0.50","false"\r\n`);
      expect(await billed.bodyOf(query)).toMatchObject({ final: false });
      expect(await billed.bodyOf(`?month=2025-01&accountId=${plain}`)).toMatchObject({ final: true });
    });

    test.each([
      ['a, b', '"a, b"', 'a comma'],
      ['say "hi"', '"say ""hi"""', 'quotes'],
      ['two\r\nlines', '"twolines"', 'a line break'],
      ['two\u2028lines', '"twolines"', 'a line break of Unicode'],
      ['a;=1+1', '"a;=1+1"', 'what some spreadsheets split at'],
      ['=1+1', `"'=1+1"`, 'a formula'],
      ['+1', `"'+1"`, 'a formula'],
      ['-1', `"'-1"`, 'a formula'],
      ['@SUM(A1)', `"'@SUM(A1)"`, 'a formula'],
      [' =1', `"' =1"`, 'a formula after a blank'],
      ['\t=1', `"'=1"`, 'or after a tab'],
      ['\u0001=1', `"'=1"`, 'or after a control character'],
      ['\u200b=1', `"'\u200b=1"`, 'or after what has no width'],
      ['＝1', `"'＝1"`, 'in full width'],
      ['=cmd|"/c calc"!A1', `"'=cmd|""/c calc""!A1"`, 'a formula with quotes'],
      ['a=1', '"a=1"', 'an equals sign within is none'],
      ['red \u001b[31m', '"red [31m"', 'an escape of terminals'],
      ['\u0085\u009b\u007fplain', '"plain"', 'controls of Latin 1'],
      ['a\u202eb\u2066c', '"abc"', 'what turns the direction of a line'],
      ['👩‍🚀', '"👩‍🚀"', 'what joins characters stays'],
    ])('CSV: the name %j is %j (%s)', async (name, field) => {
      const accountId = await billed.earlierAccount(name);
      await billed.ledger(accountId, { day: '2025-01-31', activeDaemons: 3 });
      const { text } = await billed.usage(`?month=2025-01&accountId=${accountId}`, 'text/csv');
      const night = `"2025-01-31","3","false","1.00","EUR","0.10","true"`;
      expect(text).toBe(`${HEADER}"2025-01","${accountId}",${field},${night}\r\n`);
      expect((await billed.bodyOf(`?month=2025-01&accountId=${accountId}`)).accounts[0]?.name).toBe(name);
    });

    test('CloudEvents: one a night, the same each time', async () => {
      const query = `?month=2025-01&accountId=${plain}`;
      const answer = await billed.usage(query, 'application/cloudevents-batch+json');
      expect(answer.headers.get('content-type')).toBe('application/cloudevents-batch+json');
      const events = JSON.parse(answer.text) as object[];
      expect(events).toHaveLength(2);
      expect(events[1]).toEqual({
        specversion: '1.0',
        id: `${plain}/2025-01-31`,
        source: '/muster/ledger',
        type: 'dev.muster.metering.night.v1',
        subject: plain,
        time: '2025-02-01T00:00:00.000Z',
        datacontenttype: 'application/json',
        data: { day: '2025-01-31', activeDaemons: 2, late: true, digest: 'd2', price: '0.50', currency: 'EUR' },
      });
      expect((await billed.usage(query, 'application/cloudevents-batch+json')).text).toBe(answer.text);
      expect((await billed.usage('?month=2024-12', 'application/cloudevents-batch+json')).text).toBe('[]');
    });

    const [JSON_TYPE, CSV, EVENTS] = ['application/json', 'text/csv', 'application/cloudevents-batch+json'];
    test.each([
      ['*/*', JSON_TYPE, 'anything'],
      ['', JSON_TYPE, 'nothing'],
      ['text/html', JSON_TYPE, 'an unknown type alone'],
      ['application/xml, text/html;q=0.5', JSON_TYPE, 'unknown types'],
      ['text/csv', CSV, 'one'],
      ['TEXT/CSV', CSV, 'in another case'],
      ['text/*', CSV, 'a range'],
      ['text/csv;header=present', CSV, 'with a parameter that it has'],
      ['application/*', JSON_TYPE, 'a range of two'],
      ['text/csv, application/json', CSV, 'equal ones: the first'],
      ['text/csv;q=0.5, application/json;q=0.4', CSV, 'the greater weight'],
      ['text/csv;q=0.4, application/json;q=0.5', JSON_TYPE, 'the other way round'],
      ['text/csv;q=0.1, */*;q=0.2', JSON_TYPE, 'anything rather than CSV'],
      ['application/json;q=0, application/*', EVENTS, 'not JSON'],
      ['text/csv;q=0', JSON_TYPE, 'not CSV'],
      ['text/html, application/cloudevents-batch+json;q=0.1', EVENTS, 'the one that is known'],
      ['application/cloudevents+json', JSON_TYPE, 'single events are another type'],
    ])('Accept %j: %s (%s)', async (accept, type) => {
      const { status, headers } = await billed.usage(`?month=2025-01&accountId=${plain}`, accept);
      expect(status).toBe(200);
      expect(headers.get('content-type')?.split(';')[0]).toBe(type);
      expect(headers.get('vary')).toBe('Accept');
      expect(headers.get('cache-control')).toBe('no-store, no-transform');
    });
  });

  describe('refused', () => {
    test.each(['', '?month=', '?month=2026', '?month=2026-13', '?month=2026-00', '?month=2026-1', '?month=2026-01-01'])(
      '%s',
      async (query) => {
        const answer = await billed.usage(query);
        expect(answer).toMatchObject(INVALID_REQUEST);
        expect(answer.text).toContain('YYYY-MM');
      },
    );

    test.each(['?month=1969-12', '?month=02026-01', '?month=2026-01%20', '?month=%ff'])('%s', async (query) => {
      expect(await billed.usage(query)).toMatchObject(INVALID_REQUEST);
    });

    test.each(['short', 'A'.repeat(16), `${'a'.repeat(16)}/`, ''])('the account id %j', async (accountId) => {
      expect(await billed.usage(`?month=2026-01&accountId=${accountId}`)).toMatchObject(INVALID_REQUEST);
    });

    test('an account that there is not', async () => {
      const answer = await billed.usage(`?month=2026-01&accountId=${'b'.repeat(16)}`);
      expect(answer).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } });
    });

    test.each(['limit=0', 'limit=1001', 'limit=x', 'after=%2F', 'after='])('%s', async (query) => {
      expect(await billed.usage(`?month=2026-01&${query}`)).toMatchObject(INVALID_REQUEST);
      // The page has no effect on one account, and is judged all the same.
      const ofOne = `?month=2026-01&accountId=${'b'.repeat(16)}&${query}`;
      expect(await billed.usage(ofOne)).toMatchObject(INVALID_REQUEST);
    });

    test('another method, and another token', async () => {
      const url = `${billed.muster.ops}/operator/v1/usage?month=2026-01`;
      const posted = await call(url, { method: 'POST', token: OPERATOR_TOKEN });
      expect(posted).toMatchObject({ status: 404 });
      expect(posted.headers.get('allow')).toBe('GET, HEAD');
      expect(await call(url, { token: 'wrong' })).toMatchObject({ status: 401 });
      expect(await call(url, { method: 'HEAD', token: OPERATOR_TOKEN })).toMatchObject({ status: 200, text: '' });
    });

    test('an amount that JSON cannot carry exactly', async () => {
      const accountId = await billed.account('rich');
      await billed.ledger(accountId, { day: '2025-03-01', activeDaemons: 9e15, price: '999999999', currency: 'EUR' });
      const answer = await billed.usage(`?month=2025-03&accountId=${accountId}`);
      expect(answer).toMatchObject(INVALID_REQUEST);
      expect(answer.text).toContain('2^53');
    });

    test('a store that is down, or damaged, is 502, and a month without an answer is none', async () => {
      billed.store.down.add('list');
      expect(await billed.usage('?month=2025-01')).toMatchObject({ status: 502 });
      billed.store.down.delete('list');
      await seed(billed.store, [
        rawPut(KEYS.ledger('2025-12', NOBODY, '24'), { day: '2025-12-24', activeDaemons: -1 }),
      ]);
      expect(await billed.usage('?month=2025-12')).toMatchObject({ status: 502 });
      const elsewhere = ledgerNight(NOBODY, { day: '2025-11-24', activeDaemons: 1 });
      await seed(billed.store, [{ ...elsewhere, put: KEYS.ledger('2025-11', NOBODY, '25') }]);
      expect(await billed.usage('?month=2025-11')).toMatchObject({ status: 502 });
      expect(await billed.usage('?month=2025-01')).toMatchObject({ status: 200 });
    });
  });
});
