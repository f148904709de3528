import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { OwnerClient } from '#client';
import { tenant, type Answer, type Muster, type Tenant } from '../../support/service/muster.ts';
import { asCaller, asOperator, codeOf, expectRefusal, times, type Ask } from '../../support/service/v1.ts';
import { onEachBackend } from '../../support/store/backends.ts';

/* H22: preconditions on the configuration. */

const STORED = { enabled: true, endpoint: 'https://otel.example.com', evidenceLevel: 'redacted' };
const OTHER = { ...STORED, endpoint: 'https://other.example.com' };

onEachBackend('preconditions', (backend) => {
  let muster: Muster;
  let account: Tenant;
  let ask: Ask;
  beforeAll(async () => {
    muster = await backend.fresh();
  });
  beforeEach(async () => {
    account = await tenant(muster);
    ask = asCaller(muster, account.apiKey);
  });
  afterAll(async () => {
    await muster[Symbol.asyncDispose]();
  });

  const tagOf = ({ headers }: Answer): string => headers.get('etag') ?? 'none';
  const read = async (headers: Record<string, string> = {}): Promise<Answer> =>
    await ask('GET /v1/otel-config', { headers });
  const store = async (body: object, ifMatch?: string): Promise<Answer> =>
    await ask('PUT /v1/otel-config', { body, ...(ifMatch !== undefined && { headers: { 'if-match': ifMatch } }) });
  const purge = async (ifMatch?: string): Promise<Answer> =>
    await ask('DELETE /v1/otel-config', ifMatch === undefined ? {} : { headers: { 'if-match': ifMatch } });
  const outcome = (answer: Answer): readonly unknown[] => [answer.status, codeOf(answer)];
  const REFUSED = [412, 'precondition_failed'];
  const TAKEN = [200, ''];

  test('GET and PUT answer the same strong tag, and a PUT that changes nothing keeps it', async () => {
    const never = tagOf(await read());
    expect(never).toMatch(/^"[^"]+"$/);
    const first = tagOf(await store(STORED));
    expect(first).toMatch(/^"[^"]+"$/);
    expect(first).not.toBe(never);
    expect(tagOf(await read())).toBe(first);
    expect(tagOf(await store(STORED))).toBe(first);
  });

  test('the tag changes with the header alone, is not derived from it, and never comes again', async () => {
    const tags: string[] = [tagOf(await read())];
    for (const authHeader of ['Bearer one', 'Bearer two', 'Bearer one', '']) {
      tags.push(tagOf(await store({ ...STORED, authHeader })));
    }
    for (let round = 0; round < 3; round += 1) {
      expect(await purge()).toMatchObject({ status: 200 });
      tags.push(tagOf(await read()), tagOf(await store({ ...STORED, authHeader: 'Bearer one' })));
    }
    expect(new Set(tags).size).toBe(tags.length);
    const others = await tenant(muster);
    const same = await asCaller(muster, others.apiKey)('PUT /v1/otel-config', {
      body: { ...STORED, authHeader: 'Bearer one' },
    });
    expect(tags).not.toContain(tagOf(same));
  });

  test('a PUT or DELETE with another tag is refused and changes nothing; with the present one it is made', async () => {
    const never = tagOf(await read());
    const first = tagOf(await store(STORED, never));
    expect(outcome(await store(OTHER, never))).toEqual(REFUSED);
    expect(outcome(await store(STORED, never)), 'also where it would change nothing').toEqual(REFUSED);
    expect(outcome(await purge(never))).toEqual(REFUSED);
    expect(await read()).toMatchObject({ body: STORED });
    expect(tagOf(await read())).toBe(first);
    const second = tagOf(await store(OTHER, first));
    expect(outcome(await purge(second))).toEqual(TAKEN);
    expect(outcome(await purge(second)), 'it is purged since').toEqual(REFUSED);
    expect(outcome(await purge(tagOf(await read()))), 'of what is purged').toEqual(TAKEN);
    expect(outcome(await store(STORED, second)), 'what was purged since is not stored again').toEqual(REFUSED);
  });

  test('`*` is any stored one', async () => {
    expect([outcome(await store(STORED, '*')), outcome(await purge('*'))]).toEqual([REFUSED, REFUSED]);
    await store(STORED);
    expect(outcome(await store(OTHER, ' * '))).toEqual(TAKEN);
    expect(outcome(await purge('*'))).toEqual(TAKEN);
    expect(outcome(await store(STORED, '*'))).toEqual(REFUSED);
  });

  test.each([
    ['in a list', (tag: string) => `"another", ${tag}`, TAKEN],
    ['made weak', (tag: string) => `W/${tag}`, TAKEN],
    ['marked by Apache', (tag: string) => tag.replace(/"$/, '-gzip"'), TAKEN],
    ['marked and made weak', (tag: string) => `W/${tag.replace(/"$/, '-gzip"')}`, TAKEN],
    ['marked with another coding', (tag: string) => tag.replace(/"$/, '-br"'), TAKEN],
    ['marked with something else', (tag: string) => tag.replace(/"$/, '-gzipped"'), REFUSED],
    ['without quotes', (tag: string) => tag.replaceAll('"', ''), REFUSED],
    ['a part of it', (tag: string) => `${tag.slice(0, -2)}"`, REFUSED],
    ['behind another letter', (tag: string) => tag.replace('"', '"x'), REFUSED],
    ['empty', () => '', REFUSED],
    ['`*` with something else', () => '*, "a"', REFUSED],
  ])('a tag that a client or a proxy has written otherwise: %s', async (_, written, verdict) => {
    const tag = tagOf(await store({ ...STORED, authHeader: 'Bearer one' }));
    expect(outcome(await store(OTHER, written(tag)))).toEqual(verdict);
    const now = tagOf(await read());
    expect(await read({ 'if-none-match': written(now) })).toMatchObject({ status: verdict === TAKEN ? 304 : 200 });
    expect(outcome(await purge(written(now)))).toEqual(verdict);
  });

  test('a read of the tag that is there is 304 without a body', async () => {
    const never = tagOf(await read());
    expect(await read({ 'if-none-match': never })).toMatchObject({ status: 304, text: '' });
    const stored = tagOf(await store(STORED));
    expect(await read({ 'if-none-match': never })).toMatchObject({ status: 200, body: STORED });
    const unchanged = await read({ 'if-none-match': `"a", ${stored}` });
    expect([unchanged.status, unchanged.text, tagOf(unchanged)]).toEqual([304, '', stored]);
  });

  test('it is judged with the state: after the fields, and after the entitlement', async () => {
    await store(STORED);
    expectRefusal(await store({ ...STORED, endpoint: 'ftp://x' }, '"another"'), 'invalid_endpoint');
    await asOperator(muster)(`PATCH /accounts/${account.accountId}`, { body: { entitlement: 'standard' } });
    expectRefusal(await store(STORED, '"another"'), 'enterprise_required');
    expectRefusal(await read({ 'if-none-match': '*' }), 'enterprise_required');
    expect(outcome(await purge('"another"')), 'a purge needs no entitlement').toEqual(REFUSED);
    expect(outcome(await purge('*'))).toEqual(TAKEN);
  });

  test('of twenty who store over the same configuration at once, one does', async () => {
    const tag = tagOf(await store(STORED));
    const answers = await times(20, 20, async (number) =>
      outcome(await store({ ...STORED, endpoint: `https://e${number}.example.com` }, tag)),
    );
    expect(answers.filter(([status]) => status === 200)).toHaveLength(1);
    expect(answers.filter(([status]) => status === 412)).toHaveLength(19);
  });

  test('twelve rounds of twelve clients that each change a field at once lose none', async () => {
    const levels = ['hashes', 'redacted', 'full'] as const;
    for (let round = 0; round < 12; round += 1) {
      // Each round has the rate of an account of its own.
      const { apiKey } = await tenant(muster);
      const client = (): OwnerClient => new OwnerClient({ url: muster.api, apiKey });
      const enabled = round % 2 === 0;
      const evidenceLevel = levels[(round + 1) % 3];
      await client().storeOtelConfig({ ...STORED, enabled: !enabled, evidenceLevel: levels[round % 3] });
      await times(12, 12, async (number) => {
        const changes = [{ enabled }, { endpoint: `https://e${number}.example.com` }, { evidenceLevel }];
        await client().changeOtelConfig((stored) => ({ ...stored, ...changes[number % 3] }));
      });
      const left = await client().readOtelConfig();
      expect(left).toMatchObject({ enabled, evidenceLevel });
      expect(left.endpoint).toMatch(/^https:\/\/e/);
    }
  });
});
