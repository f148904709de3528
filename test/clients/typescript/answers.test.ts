import { describe, expect, test } from 'vitest';
import { MusterError, OwnerClient } from '#client';
import { SimulatedWorld } from '../../support/time/simulated-world.ts';
import { brokenOff, ok, refused, scripted, thrown, type Answer } from './scripted.ts';

/* What the clients make of an answer, and what their errors tell of the request. */

type Clients = ReturnType<typeof scripted>;
const sentId = ({ sent }: Clients): string => new Headers(sent[0]?.init.headers).get('x-request-id') ?? '';

describe('the id of a request', () => {
  test.each([
    ['r-1', true, 'an id'],
    ['x'.repeat(128), true, 'the longest id'],
    ['x'.repeat(129), false, 'one character more'],
    ['a b', false, 'a text'],
    ['r\u009b31m', false, 'the beginning of a colour'],
    ['-token-0123456789-', false, 'the secret within an id'],
  ])('that the answer names as %.40j is taken: %j (%s)', async (told, isTaken) => {
    const world = new SimulatedWorld();
    const fetch = async (): Promise<Response> => refused(401, 'invalid_key', { 'x-request-id': told });
    const owner = new OwnerClient({ url: 'http://service', apiKey: 'token-0123456789', fetch, timing: world });
    const error = await thrown(world.until(owner.listApps({ requestId: 'sent' })));
    expect(error.requestId).toBe(isTaken ? told : 'sent');
  });

  const aborted = ({ world, owner }: Clients): Promise<unknown> => {
    const controller = new AbortController();
    world.after(10, () => controller.abort());
    return owner.createApp({}, { signal: controller.signal });
  };
  test.each<[string, number, () => Answer, (clients: Clients) => Promise<unknown>]>([
    ['while the next attempt was waited for', 0.9, brokenOff, aborted],
    [
      'while the turn of the next attempt was waited for',
      0,
      () => refused(502, 'upstream_unavailable', { ratelimit: '"account";r=0;t=50' }),
      aborted,
    ],
    ['by a page', 0, () => new Response('<html>'), ({ owner }) => owner.createApp()],
    ['by an answer without ETag', 0, () => new Response('{"revision":1}'), ({ device }) => device.pollConfig()],
    ['by an answer that is no CSV', 0, ok, ({ operator }) => operator.readUsageCsv({ month: '2026-01' })],
  ])('is that which was sent where the call ended %s', async (_, random, answer, call) => {
    const clients = scripted({ answers: [answer], random: () => random });
    const { requestId } = await thrown(clients.world.until(call(clients)));
    expect(requestId).not.toBe('');
    expect(requestId).toBe(sentId(clients));
  });

  test('is there where the secret of a later attempt cannot be read, and not where that of the first cannot', async () => {
    for (const [secrets, requestId] of [
      [['key', ''], 'sent'],
      [[''], ''],
    ] as const) {
      const world = new SimulatedWorld();
      const left = [...secrets];
      const owner = new OwnerClient({
        url: 'http://service',
        apiKey: () => left.shift() ?? '',
        fetch: () => Promise.reject(brokenOff()),
        timing: world,
      });
      const error = await thrown(world.until(owner.listApps({ requestId: 'sent' })));
      expect([error.code, error.requestId]).toEqual(['invalid_argument', requestId]);
    }
  });

  test('is missing where nothing was sent', async () => {
    const { world, owner, sent } = scripted({ answers: [() => new MusterError('nobody', { code: 'unreachable' })] });
    expect((await thrown(world.until(owner.listApps({ signal: AbortSignal.abort() })))).requestId).toBe('');
    expect(sent).toEqual([]);
    expect((await thrown(world.until(owner.listApps()))).requestId).toBe('');
  });
});

test.each<[string, () => Answer]>([
  ['timeout', () => 'never'],
  ['timeout', brokenOff],
  ['bad_answer', () => new Response('<html>', { status: 201 })],
  ['bad_answer', () => new Response('{}', { status: 201 })],
  ['invalid_name', () => refused(400, 'invalid_name')],
])('an error of a create has its key, also one that the client drew (%s)', async (code, answer) => {
  const { world, owner, operator, sent } = scripted({ answers: [answer], random: () => 0.5 });
  for (const create of [(): Promise<object> => owner.createApp(), () => operator.createApiKey('a')]) {
    sent.length = 0;
    const error = await thrown(world.until(create()));
    expect([error.code, error.idempotencyKey]).toEqual([code, expect.stringMatching(/^[0-9a-f-]{32,36}$/)]);
    expect(new Headers(sent[0]?.init.headers).get('idempotency-key')).toBe(error.idempotencyKey);
  }
  expect((await thrown(world.until(owner.readApp('a', { timeoutMs: 1 })))).idempotencyKey).toBeUndefined();
});

describe('an object of a stranger', () => {
  test.each<[string, (clients: Clients) => Promise<unknown> | AsyncGenerator]>([
    ['createApp', ({ owner }) => owner.createApp()],
    ['listApps', ({ owner }) => owner.listApps()],
    ['watchApps', ({ owner }) => owner.watchApps()],
    ['readOtelConfig', ({ owner }) => owner.readOtelConfig()],
    ['enrollDevice', ({ device }) => device.enrollDevice({ appId: 'a', enrollCode: 'c' })],
    ['accounts', ({ operator }) => operator.accounts()],
    ['audit', ({ operator }) => operator.audit('a')],
    ['createApiKey', ({ operator }) => operator.createApiKey('a')],
    ['readKeys', ({ operator }) => operator.readKeys()],
    ['readUsage', ({ operator }) => operator.readUsage({ month: '2026-01' })],
  ])('is no success of %s', async (_, call) => {
    for (const text of ['{}', '{"apps":{},"accounts":5}', '{"apps":[null],"accounts":["a"]}']) {
      const clients = scripted({ answers: [() => new Response(text)] });
      const called = call(clients);
      const first = called instanceof Promise ? called : called.next();
      const error = await thrown(clients.world.until(first));
      expect(error).toMatchObject({ code: 'bad_answer', status: 200, mayBeDone: true, requestId: sentId(clients) });
    }
  });
});

test.each([
  [['a', 'a'], 2, 'one that is followed by itself'],
  [['a', 'b', 'a'], 3, 'two that follow each other'],
  [['b', 'z'], 2, 'back to where the caller began'],
])('pages that lead in a circle end: %j', async (nexts, read) => {
  const { world, operator, sent } = scripted({
    answers: nexts.map((next) => () => new Response(JSON.stringify({ accounts: [], next }))),
  });
  const all = async (): Promise<void> => {
    for await (const _ of operator.accounts({ after: 'z' })) continue;
  };
  expect((await thrown(world.until(all()))).code).toBe('bad_answer');
  expect(sent).toHaveLength(read);
});

describe('a Retry-After that is a date', () => {
  const date = 'Thu, 01 Jan 2026 00:00:00 GMT';
  test.each<[string, number | undefined, string]>([
    ['Thu, 01 Jan 2026 00:00:30 GMT', 30, 'reckoned by the clock of whoever answers'],
    ['Wed, 31 Dec 2025 23:59:59 GMT', 0, 'over already'],
    ['Fri, 01 Jan 2027 00:00:00 GMT', 86_400, 'a year is cut to a day'],
    ['99999999', 86_400, 'so are seconds'],
    ['tomorrow', undefined, 'no date'],
    ['2026-01-01T00:00:30Z', undefined, 'none of HTTP'],
  ])('%s is %j s (%s)', async (field, seconds) => {
    const { world, operator } = scripted({ answers: [() => refused(500, 'x', { 'retry-after': field, date })] });
    expect((await thrown(world.until(operator.readKeys()))).retryAfterSeconds).toBe(seconds);
  });

  test('is waited out', async () => {
    const { world, owner, times } = scripted({
      answers: [() => refused(503, 'overloaded', { 'retry-after': 'Thu, 01 Jan 2026 00:00:30 GMT', date }), ok],
    });
    await world.until(owner.listApps());
    expect(times()).toEqual([0, 30_000]);
  });

  test('counts by the clock of this machine where the answer has no date', async () => {
    const { world, owner, sent } = scripted({
      answers: [() => refused(503, 'overloaded', { 'retry-after': 'Fri, 01 Jan 2999 00:00:00 GMT' })],
    });
    expect(await thrown(world.until(owner.listApps()))).toMatchObject({ code: 'timeout', retryAfterSeconds: 86_400 });
    expect(sent).toHaveLength(1);
  });
});
