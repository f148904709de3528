import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, createApp, OPERATOR_TOKEN, tenant, type Answer, type Muster } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { HOUR_MS } from '../../../src/time/utc-days.ts';

onEachBackend('an export of several pages', (backend) => {
  const clock = new FakeClock();
  let muster: Muster;
  beforeAll(async () => {
    muster = await backend.fresh({ clock });
  });
  afterAll(() => muster[Symbol.asyncDispose]());
  const ask = (path: string, method = 'GET'): Promise<Answer> =>
    call(`${muster.ops}/operator/v1${path}`, { method, token: OPERATOR_TOKEN });
  const lines = (): unknown[] =>
    muster.logged.map((line) => JSON.parse(line) as { msg: string }).filter(({ msg }) => msg === 'an export begins');

  test('is noted once, as long as it goes on from where it was', async () => {
    const { accountId, apiKey } = await tenant(muster);
    for (let n = 0; n < 4; n += 1) await createApp(muster, apiKey);
    const before = lines().length;
    let [after, pages] = ['', 0];
    do {
      const { next } = (await ask(`/accounts/${accountId}/audit?limit=2${after}`)).body;
      after = typeof next === 'string' ? `&after=${next}` : '';
      pages += 1;
    } while (after !== '');
    expect([pages, lines().length - before]).toEqual([3, 1]);
  });

  test('that begins in the middle is an export, too: otherwise nobody would need the first page', async () => {
    const { accountId } = await tenant(muster);
    for (const path of [`/accounts/${accountId}/audit?after=0`, '/audit?after=0', '/usage?month=2026-01&after=0']) {
      const before = lines().length;
      expect((await ask(path)).status).toBe(200);
      expect([path, lines().length - before]).toEqual([path, 1]);
    }
  });

  test('that asks for the end again and again, as one who follows an audit does, is one export', async () => {
    const { accountId } = await tenant(muster);
    const { next } = (await ask(`/accounts/${accountId}/audit?limit=1`)).body;
    const before = lines().length;
    for (let n = 0; n < 3; n += 1) await ask(`/accounts/${accountId}/audit?after=${String(next)}`);
    expect(lines().length - before).toBe(0);
    // Another replica has given that place: this one tells of it once.
    for (let n = 0; n < 3; n += 1) await ask(`/accounts/${accountId}/audit?after=0another`);
    expect(lines().length - before).toBe(1);
  });

  test('is one for an hour: whoever asks for a known place later takes it away anew', async () => {
    const { accountId } = await tenant(muster);
    const { next } = (await ask(`/accounts/${accountId}/audit?limit=1`)).body;
    const told = async (after: unknown): Promise<number> => {
      const before = lines().length;
      await ask(`/accounts/${accountId}/audit?after=${String(after)}`);
      return lines().length - before;
    };
    clock.advance(HOUR_MS - 1);
    expect([await told(next), await told('0'), await told('0')]).toEqual([0, 1, 0]);
    clock.advance(1);
    expect([await told(next), await told(next), await told('0')]).toEqual([1, 0, 0]);
    clock.advance(HOUR_MS - 1);
    expect([await told(next), await told('0')]).toEqual([0, 1]);
  });

  test('is one for an hour also for who goes on from page to page: each page gives a fresh place', async () => {
    const { accountId, apiKey } = await tenant(muster);
    for (let n = 0; n < 4; n += 1) await createApp(muster, apiKey);
    const before = lines().length;
    const told: number[] = [];
    let after = '';
    for (let page = 0; page < 4; page += 1) {
      const { next } = (await ask(`/accounts/${accountId}/audit?limit=1${after}`)).body;
      after = `&after=${String(next)}`;
      told.push(lines().length - before);
      clock.advance((HOUR_MS * 2) / 3);
    }
    expect(told).toEqual([1, 1, 2, 2]);
  });

  test('is none where only the headers are asked for, or where it is refused', async () => {
    const { accountId } = await tenant(muster);
    const before = lines().length;
    for (const path of [`/accounts/${accountId}/audit`, '/usage?month=2026-01']) {
      expect((await ask(path, 'HEAD')).status).toBe(200);
    }
    expect((await ask('/usage?month=2026-01&accountId=aaaaaaaaaaaaaaaa')).status).toBe(404);
    expect(lines().length).toBe(before);
  });
});
