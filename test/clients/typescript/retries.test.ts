import { describe, expect, test } from 'vitest';
import { MusterError, OwnerClient } from '#client';
import { APPS, brokenOff, ok, refused, scripted, thrown, type Answer } from './scripted.ts';

/* When a request is sent again, and when a call ends: in simulated time, against answers that a test writes. */

describe('waits', () => {
  test('grow from 200 ms to 10 s after broken connections, with full jitter', async () => {
    const most = scripted({ answers: [brokenOff], random: () => 0.999_999, timeoutMs: 40_000 });
    await thrown(most.world.until(most.owner.listApps()));
    expect(most.events.map(({ waitMs }) => Math.round(waitMs))).toEqual([
      200, 400, 800, 1600, 3200, 6400, 10_000, 10_000,
    ]);
    expect(most.events.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    const none = scripted({ answers: [brokenOff, brokenOff, brokenOff, ok], random: () => 0 });
    await none.world.until(none.owner.listApps());
    expect(none.times()).toEqual([0, 0, 0, 0]);
  });

  test.each([
    [429, 'rate_limited'],
    [502, 'upstream_unavailable'],
    [503, 'overloaded'],
  ])('a %d is waited out by its Retry-After, and up to a quarter more', async (status, code) => {
    for (const [random, at] of [
      [0, 4000],
      [0.999_999, 5000],
    ] as const) {
      const { world, owner, times, events } = scripted({
        answers: [() => refused(status, code, { 'retry-after': '4' }), ok],
        random: () => random,
      });
      expect(await world.until(owner.listApps())).toEqual({ apps: [] });
      expect(times()).toEqual([0, at]);
      expect(events).toMatchObject([{ method: 'GET', path: '/v1/apps', attempt: 1, error: { status, code } }]);
    }
  });

  test('the same X-Request-Id and Idempotency-Key go with every attempt, and others with another call', async () => {
    const { world, owner, sent } = scripted({ answers: [brokenOff, () => new Response('{"appId":"a"}')] });
    await world.until(owner.createApp());
    await world.until(owner.createApp());
    const of = (name: string) => sent.map(({ init }) => new Headers(init.headers).get(name));
    for (const name of ['x-request-id', 'idempotency-key']) {
      const [first, second, third] = of(name);
      expect(first).toMatch(/^[0-9a-f-]{32,36}$/);
      expect(second).toBe(first);
      expect(third).not.toBe(first);
    }
  });
});

describe('the end of a call', () => {
  test('is a deadline of 60 s, whose error says what the last trouble was', async () => {
    const { world, owner, elapsed } = scripted({
      answers: [() => refused(502, 'upstream_unavailable', { 'retry-after': '7', 'x-request-id': 'r-1' })],
    });
    const error = await thrown(world.until(owner.listApps()));
    expect(error).toMatchObject({ code: 'timeout', status: 502, requestId: 'r-1', retryAfterSeconds: 7 });
    expect(error.message).toMatch(/60000 ms \(9 attempts\)\. Last trouble: 502 upstream_unavailable: It is/);
    expect(error.cause).toMatchObject({ code: 'upstream_unavailable', status: 502 });
    expect(elapsed()).toBe(56_000);
  });

  test('comes at once where the service asks for a longer wait than there is', async () => {
    const { world, owner, elapsed, sent } = scripted({
      answers: [() => refused(429, 'rate_limited', { 'retry-after': '61' })],
    });
    expect(await thrown(world.until(owner.listApps()))).toMatchObject({ code: 'timeout', status: 429 });
    expect([elapsed(), sent.length]).toEqual([0, 1]);
    const other = scripted({ answers: [() => refused(429, 'rate_limited', { 'retry-after': '59' }), ok] });
    await other.world.until(other.owner.listApps());
    expect(other.elapsed()).toBe(59_000);
  });

  test('an attempt has 15 s, and the next one goes after it', async () => {
    const { world, owner, times } = scripted({ answers: [() => 'never', ok] });
    await world.until(owner.listApps());
    expect(times()).toEqual([0, 15_000]);
  });

  test('a call may have a time of its own, which bounds its attempts, too', async () => {
    const { world, owner, elapsed } = scripted({ answers: [() => 'never'] });
    expect(await thrown(world.until(owner.listApps({ timeoutMs: 1000 })))).toMatchObject({
      code: 'timeout',
      status: 0,
    });
    expect(elapsed()).toBe(1000);
  });

  test('a retry that waits for the rate waits no longer than that, and the last answer is told', async () => {
    const headers = { ratelimit: '"account";r=0;t=50' };
    const { world, owner, elapsed, sent } = scripted({
      answers: [() => refused(502, 'upstream_unavailable', headers), () => 'never'],
    });
    const error = await thrown(world.until(owner.listApps({ timeoutMs: 10_000 })));
    expect(error).toMatchObject({ code: 'timeout', status: 502, cause: { code: 'upstream_unavailable' } });
    expect(error.message).toMatch(/\(one attempt\)\. Last trouble: 502 upstream_unavailable/);
    expect([elapsed(), sent.length]).toEqual([10_000, 1]);
    const inTime = scripted({ answers: [() => refused(502, 'upstream_unavailable', headers), ok] });
    await inTime.world.until(inTime.owner.listApps({ timeoutMs: 50_001 }));
    expect(inTime.times()).toEqual([0, 50_000]);
  });

  test('what an attempt could not know in the time that was left does not hide the answer before it', async () => {
    const { world, owner, elapsed, sent } = scripted({
      answers: [() => refused(502, 'upstream_unavailable', { 'retry-after': '10' }), () => 'never'],
    });
    const error = await thrown(world.until(owner.listApps({ timeoutMs: 10_001 })));
    expect(error).toMatchObject({ code: 'timeout', status: 502, cause: { status: 502 } });
    expect([elapsed(), sent.length]).toEqual([10_001, 2]);
  });

  test('a held poll has its wait beyond that', async () => {
    const { world, device, times } = scripted({
      answers: [() => 'never', () => new Response(null, { status: 304 })],
    });
    await world.until(device.pollConfig({ etag: '"0"', waitSeconds: 50 }));
    expect(times()).toEqual([0, 65_000]);
  });

  test('an audit of a million entries may be verified for two minutes', async () => {
    const { world, operator, times } = scripted({
      answers: [() => 'never', () => new Response('{"faults":[]}')],
    });
    await world.until(operator.verifyAudit('a'));
    expect(times()).toEqual([0, 135_000]);
  });

  test.each(['an answer', 'the next attempt', 'a piece of a stream'])(
    'the signal ends a wait for %s at once',
    async (what) => {
      const controller = new AbortController();
      const waiting = new ReadableStream<Uint8Array>({ pull: () => new Promise(() => undefined) });
      const first = {
        'an answer': () => 'never' as const,
        'the next attempt': () => refused(503, 'overloaded', { 'retry-after': '30' }),
        'a piece of a stream': () => new Response(waiting),
      }[what];
      const { world, operator, elapsed } = scripted({ answers: [first ?? ok] });
      const { signal } = controller;
      const read = async (): Promise<void> => {
        const { body } = await operator.readBackup({}, { signal });
        for await (const _ of body) continue;
      };
      const call = read();
      world.after(10, () => controller.abort(new Error('enough')));
      const error = await thrown(world.until(call));
      expect(error).toMatchObject({ code: 'aborted', status: 0, cause: { message: 'enough' } });
      expect(elapsed()).toBe(10);
    },
  );

  test('a signal that is aborted already sends nothing', async () => {
    const { world, owner, sent } = scripted({ answers: [ok] });
    expect((await thrown(world.until(owner.listApps({ signal: AbortSignal.abort() })))).code).toBe('aborted');
    expect(sent).toEqual([]);
  });
});

describe('what is not sent again', () => {
  test.each([
    ['invalid_key', 401],
    ['enterprise_required', 403],
    ['not_found', 404],
    ['invalid_name', 400],
    ['payload_too_large', 413],
  ])('%s', async (code, status) => {
    const { world, owner, sent } = scripted({ answers: [() => refused(status, code)] });
    expect(await thrown(world.until(owner.createApp()))).toMatchObject({ code, status, message: `It is ${code}.` });
    expect(sent).toHaveLength(1);
  });

  test('what must not be carried out twice, unless it was refused without effect', async () => {
    const unknown = scripted({ answers: [() => refused(502, 'upstream_unavailable'), ok] });
    expect((await thrown(unknown.world.until(unknown.operator.rotateKeys()))).code).toBe('upstream_unavailable');
    expect(unknown.sent).toHaveLength(1);
    const late = scripted({ answers: [() => 'never', ok] });
    expect((await thrown(late.world.until(late.operator.rotateKeys()))).code).toBe('timeout');
    expect(late.sent).toHaveLength(1);
    const refusedFirst = scripted({
      answers: [
        () => refused(503, 'overloaded'),
        () => refused(429, 'rate_limited'),
        () => new Response('{"accepted":0}'),
      ],
    });
    await refusedFirst.world.until(refusedFirst.device.reportDetections({ events: [] }));
    expect(refusedFirst.sent).toHaveLength(3);
  });

  test('a deletion that a stranger answers with 404: only the service knows that it is done', async () => {
    const lost = (): Response => refused(502, 'upstream_unavailable');
    const known = scripted({ answers: [lost, () => refused(404, 'not_found')] });
    await known.world.until(known.owner.deleteApp('a'));
    const strange = scripted({ answers: [lost, () => new Response('<html>', { status: 404 })] });
    const error = await thrown(strange.world.until(strange.owner.deleteApp('a')));
    expect(error).toMatchObject({ code: 'bad_answer', status: 404, mayBeDone: true });
  });

  test('a POST of any path without a key; with one it is', async () => {
    const request = { method: 'POST', path: '/v1/apps' };
    const once = scripted({ answers: [brokenOff, ok] });
    expect((await thrown(once.world.until(once.owner.request(request)))).code).toBe('network');
    const again = scripted({ answers: [brokenOff, ok] });
    expect(await again.world.until(again.owner.request(request, { idempotencyKey: 'k' }))).toMatchObject({
      status: 200,
    });
  });

  test('what `fetch` refuses to send: a port of another protocol', async () => {
    const url = 'http://127.0.0.1:6000';
    const owner = new OwnerClient({ url, apiKey: 'key', timeoutMs: 1000 });
    expect(await thrown(owner.listApps())).toMatchObject({ code: 'invalid_argument', status: 0 });
    const badPort = (): Error => new TypeError('fetch failed', { cause: new Error('bad port') });
    const { world, owner: again, sent } = scripted({ answers: [badPort, ok] });
    expect((await thrown(world.until(again.listApps()))).code).toBe('invalid_argument');
    expect(sent).toHaveLength(1);
  });

  test('what the caller’s own fetch calls final', async () => {
    const { world, owner, sent } = scripted({ answers: [() => new MusterError('nobody', { code: 'unreachable' })] });
    expect((await thrown(world.until(owner.listApps()))).code).toBe('unreachable');
    expect(sent).toHaveLength(1);
  });
});

describe('an error says whether the request may have been carried out', () => {
  const invalid = (): Response => refused(400, 'invalid_name');
  test.each<[string, boolean, readonly (() => Answer)[]]>([
    ['it was refused', false, [invalid]],
    ['it was refused for the rate until the time was up', false, [() => refused(429, 'rate_limited')]],
    ['the service was overloaded until the time was up', false, [() => refused(503, 'overloaded')]],
    ['the connection broke off until the time was up', true, [brokenOff]],
    ['no answer came', true, [() => 'never']],
    ['a proxy said that it had none', true, [() => refused(502, 'upstream_unavailable')]],
    ['it was refused once its first answer was lost', true, [brokenOff, invalid]],
    ['nobody listened any more then', true, [brokenOff, () => new MusterError('nobody', { code: 'unreachable' })]],
    ['nobody listened', false, [() => new MusterError('nobody', { code: 'unreachable' })]],
    ['the answer of success could not be read', true, [() => new Response('[]', { status: 201 })]],
  ])('%s: %j', async (_, mayBeDone, answers) => {
    const { world, owner } = scripted({ answers, random: () => 0.5 });
    expect((await thrown(world.until(owner.createApp()))).mayBeDone).toBe(mayBeDone);
  });

  test.each([
    ['while the answer was waited for', true, () => 'never' as const],
    ['while the next attempt was, after a refusal', false, () => refused(429, 'rate_limited', { 'retry-after': '9' })],
    ['while the next attempt was, after a lost answer', true, () => refused(502, 'x', { 'retry-after': '9' })],
  ])('it was aborted %s: %j', async (_, mayBeDone, answer) => {
    const controller = new AbortController();
    const { world, owner } = scripted({ answers: [answer] });
    world.after(10, () => controller.abort());
    const error = await thrown(world.until(owner.createApp({}, { signal: controller.signal })));
    expect([error.code, error.mayBeDone]).toEqual(['aborted', mayBeDone]);
  });
});

test('a body that JSON cannot say is refused, and nothing is sent', async () => {
  const circle: { self?: object } = {};
  circle.self = circle;
  for (const body of [{ count: 1n }, circle]) {
    const { world, owner, sent } = scripted({ answers: [ok] });
    const error = await thrown(world.until(owner.request({ method: 'POST', path: '/v1/apps', body })));
    expect(error).toMatchObject({ code: 'invalid_argument', status: 0, message: 'The body cannot be JSON.' });
    expect(sent).toEqual([]);
  }
});

describe('an answer that is not one of Muster', () => {
  test.each([
    ['a redirect', () => new Response(null, { status: 302, headers: { location: 'http://elsewhere' } })],
    ['a page', () => new Response('<html>')],
    ['a list', () => new Response('[]')],
    ['an error of a stranger', () => new Response('{"error":"no"}', { status: 418 })],
  ])('%s is bad_answer', async (_, answer) => {
    const { world, owner, sent } = scripted({ answers: [answer] });
    expect((await thrown(world.until(owner.listApps()))).code).toBe('bad_answer');
    expect(sent).toHaveLength(1);
  });

  test.each([502, 503, 504])('a %d of a proxy is waited out', async (status) => {
    const { world, owner, sent } = scripted({ answers: [() => new Response('<h1>', { status }), ok] });
    await world.until(owner.listApps());
    expect(sent).toHaveLength(2);
  });

  test('one of more than 64 MiB is given up, and one of that size is read', async () => {
    const piece = new Uint8Array(1024 * 1024).fill(0x20);
    const sized = (pieces: number) => () => {
      let left = pieces;
      const pull = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
        if (left === 0) controller.enqueue(new TextEncoder().encode(APPS));
        if (left < 0) controller.close();
        else if (left > 0) controller.enqueue(piece);
        left -= 1;
      };
      return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }));
    };
    const large = scripted({ answers: [sized(64)] });
    expect(await thrown(large.world.until(large.owner.listApps()))).toMatchObject({ code: 'bad_answer' });
    const whole = scripted({ answers: [sized(63)] });
    expect(await whole.world.until(whole.owner.listApps())).toEqual({ apps: [] });
  });

  test.each<[string, number | undefined, number | undefined, number]>([
    ['a minute', undefined, undefined, 60_000],
    ['the time of the client', 3000, undefined, 3000],
    ['the time of the call', 90_000, 2000, 2000],
  ])('a stream that stalls for %s ends with timeout', async (_what, ofClient, timeoutMs, stalledMs) => {
    let pieces = 1;
    const pull = (controller: ReadableStreamDefaultController<Uint8Array>): Promise<never> | void => {
      if (pieces > 0) controller.enqueue(new Uint8Array(1));
      pieces -= 1;
      return pieces < 0 ? new Promise<never>(() => undefined) : undefined;
    };
    const { world, operator, elapsed } = scripted({
      answers: [() => new Response(new ReadableStream({ pull }, { highWaterMark: 0 }))],
      ...(ofClient !== undefined && { timeoutMs: ofClient }),
    });
    const { body } = await world.until(operator.readBackup({}, { timeoutMs }));
    const reader = body.getReader();
    expect((await world.until(reader.read())).done).toBe(false);
    // Its taker may take its time.
    await world.until(world.sleep(300_000));
    expect(await thrown(world.until(reader.read()))).toMatchObject({
      code: 'timeout',
      message: `The answer stood still for ${stalledMs} ms.`,
    });
    expect(elapsed()).toBe(300_000 + stalledMs);
  });
});

describe('what is sent', () => {
  test('ids are escaped, and never lead to another path', async () => {
    const { world, owner, sent } = scripted({ answers: [() => new Response('{"appId":"a"}')] });
    await world.until(owner.readApp('a/../../operator?x#y'));
    expect(sent[0]?.url).toBe('http://service/v1/apps/a%2F..%2F..%2Foperator%3Fx%23y');
    for (const id of ['', '.', '..']) {
      expect(await thrown(world.until(owner.deleteApp(id)))).toMatchObject({ code: 'invalid_argument', status: 0 });
    }
    expect(sent).toHaveLength(1);
  });

  test.each<[string, (clients: ReturnType<typeof scripted>) => Promise<unknown>]>([
    ['a request id', ({ owner }) => owner.listApps({ requestId: 'a b' })],
    ['an idempotency key', ({ owner }) => owner.createApp({}, { idempotencyKey: 'ä' })],
    ['an etag', ({ device }) => device.pollConfig({ etag: '"\n"' })],
    ['a wait', ({ device }) => device.pollConfig({ waitSeconds: 1.5 })],
    ['a proof', ({ device }) => device.enrollDevice({ appId: 'a', enrollCode: 'c' }, { credential: 'a b' })],
    ['a path', ({ owner }) => owner.request({ method: 'GET', path: 'v1/apps' })],
    ['a method', ({ owner }) => owner.request({ method: 'G T', path: '/v1/apps' })],
    ['a body of a GET', ({ owner }) => owner.request({ method: 'GET', path: '/v1/apps', body: {} })],
    ['a header', ({ owner }) => owner.request({ method: 'GET', path: '/v1/apps', headers: { 'a b': 'c' } })],
    ['a time', ({ owner }) => owner.listApps({ timeoutMs: 0 })],
  ])('%s that cannot be sent is invalid_argument', async (_, call) => {
    const clients = scripted({ answers: [ok] });
    expect(await thrown(clients.world.until(call(clients)))).toMatchObject({ code: 'invalid_argument', status: 0 });
    expect(clients.sent).toEqual([]);
  });

  test.each(['no url', 'ftp://service', 'http://user:pass@service', 'http://service?x=1', 'http://service#x'])(
    'the address %s is invalid_argument, and is not repeated',
    (url) => {
      const made = (): unknown => new OwnerClient({ url, apiKey: 'key' });
      expect(made).toThrow(MusterError);
      expect(made).not.toThrow(url);
    },
  );

  test('an address with a path keeps it', async () => {
    const { world, sent } = scripted({ answers: [ok] });
    const fetch: typeof globalThis.fetch = async (url) => {
      sent.push({ at: 0, url: url instanceof Request ? url.url : url.toString(), init: {} });
      return ok();
    };
    await world.until(new OwnerClient({ url: 'https://host/muster/', apiKey: 'k', fetch, timing: world }).listApps());
    expect(sent[0]?.url).toBe('https://host/muster/v1/apps');
  });
});
