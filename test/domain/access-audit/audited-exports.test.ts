import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, createApp, OPERATOR_TOKEN, tenant, type Answer, type Muster } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';

onEachBackend('an export of several pages', (backend) => {
  let muster: Muster;
  beforeAll(async () => {
    muster = await backend.fresh();
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
