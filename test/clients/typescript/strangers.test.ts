import { describe, expect, test } from 'vitest';
import { DeviceClient } from '#client';
import { SimulatedWorld } from '../../support/time/simulated-world.ts';
import { broken, brokenOff, scripted, thrown, type Answer } from './scripted.ts';

/* Answers that come through proxies, or from strangers: the device plane is read from networks that nobody knows. */

type Clients = ReturnType<typeof scripted>;

const CONFIG = {
  revision: 3,
  pollIntervalSeconds: 60,
  otel: { enabled: true, endpoint: 'https://a.example', headers: { A: 'b' }, evidenceLevel: 'hashes' },
};
const config =
  (body: object = CONFIG, headers: Record<string, string> = { etag: '"3-a-60"' }) =>
  (): Answer =>
    new Response(JSON.stringify(body), { headers });

describe('a configuration', () => {
  test('without a tag is taken', async () => {
    const { world, device } = scripted({ answers: [config(CONFIG, {})] });
    expect(await world.until(device.pollConfig())).toEqual({ changed: true, config: CONFIG, etag: undefined });
  });

  test.each([
    ['latin ÿ', 'a character beyond ASCII'],
    [`"${'x'.repeat(300)}"`, 'a long one'],
    ['a', 'no quotes'],
  ])('with the tag %.20j is taken without it: %s', async (etag) => {
    const { world, device } = scripted({ answers: [config(CONFIG, { etag })] });
    expect(await world.until(device.pollConfig())).toMatchObject({ changed: true, etag: undefined });
  });

  test.each<[object, boolean, string]>([
    [CONFIG, false, 'the same'],
    [{ ...CONFIG, revision: 4 }, true, 'another revision'],
    [{ ...CONFIG, otel: { ...CONFIG.otel, headers: { A: 'c' } } }, true, 'another header'],
  ])('without a tag is compared with the one that the daemon has: %#', async (body, changed) => {
    const { world, device } = scripted({ answers: [config(CONFIG, {}), config(body, {})] });
    const first = await world.until(device.pollConfig());
    if (!first.changed) throw new Error('the first poll brings the configuration');
    const again = await world.until(device.pollConfig({ config: first.config }));
    expect(again.changed).toBe(changed);
    // Neither poll was held, and the interval is there also where a proxy has dropped the header.
    expect(again.retryAfterSeconds).toBe(changed ? undefined : 60);
  });

  test.each([
    ['"3-a-60"', '"3-a-60"', 'the same tag'],
    ['"3-a-60"', 'W/"3-a-60"', 'weak since'],
    ['"3-a-60-gzip"', '"3-a-60"', 'compressed before'],
    ['"3-a-60"', '"3-a-60-gzip"', 'compressed since'],
  ])('whose tag was %s and is %s is the same (%s)', async (etag, now) => {
    const { world, device } = scripted({ answers: [config(CONFIG, { etag: now })] });
    expect(await world.until(device.pollConfig({ etag }))).toEqual({
      changed: false,
      etag: now,
      retryAfterSeconds: 60,
    });
  });

  test('of 304 is none where the daemon has named none', async () => {
    const { world, device } = scripted({
      answers: [() => new Response(null, { status: 304, headers: { etag: '"a"' } })],
    });
    expect(await thrown(world.until(device.pollConfig()))).toMatchObject({ code: 'bad_answer', status: 304 });
  });

  const { otel } = CONFIG;
  test.each<[object, string]>([
    [{ revision: 3 }, 'the revision alone'],
    [{ ...CONFIG, revision: '3' }, 'a revision that is a text'],
    [{ ...CONFIG, revision: -1 }, 'a revision below 0'],
    [{ ...CONFIG, pollIntervalSeconds: null }, 'no interval'],
    [{ ...CONFIG, otel: null }, 'null for otel'],
    [{ ...CONFIG, otel: { ...otel, enabled: 'yes' } }, 'an enabled that is a text'],
    [{ ...CONFIG, otel: { ...otel, endpoint: 1 } }, 'an endpoint that is a number'],
    [{ ...CONFIG, otel: { ...otel, headers: ['a'] } }, 'headers that are a list'],
    [{ ...CONFIG, otel: { ...otel, headers: { A: 1 } } }, 'a header that is a number'],
  ])('%# is no configuration: %s', async (body) => {
    const { world, device } = scripted({ answers: [config(body)] });
    expect(await thrown(world.until(device.pollConfig()))).toMatchObject({ code: 'bad_answer', status: 200 });
  });

  test('may have fields that the client does not know', async () => {
    const body = { ...CONFIG, more: 1, otel: { ...otel, more: [] } };
    const { world, device } = scripted({ answers: [config(body)] });
    expect(await world.until(device.pollConfig())).toMatchObject({ changed: true, config: body });
  });
});

test('an enrollment is that of its app, and has the credential that it asked for', async () => {
  const body = { appId: 'a', status: 'active', pollIntervalSeconds: 60 };
  const enrolled = (answer: object, credentialHash?: string): Promise<unknown> => {
    const { world, device } = scripted({ answers: [() => new Response(JSON.stringify(answer))] });
    return world.until(device.enrollDevice({ appId: 'a', enrollCode: 'c', ...(credentialHash && { credentialHash }) }));
  };
  expect(await enrolled(body, 'f'.repeat(64))).toEqual(body);
  expect(await enrolled({ ...body, credential: 'mst_dev_x' })).toMatchObject({ credential: 'mst_dev_x' });
  expect((await thrown(enrolled({ ...body, appId: 'b' }, 'f'.repeat(64)))).code).toBe('bad_answer');
  expect((await thrown(enrolled(body))).code).toBe('bad_answer');
});

describe('a page with 200', () => {
  test.each<[string, (clients: Clients) => Promise<void>]>([
    ['acknowledgeConfig', ({ device }) => device.acknowledgeConfig({ revision: 1, status: 'applied' })],
    ['deleteApp', ({ owner }) => owner.deleteApp('a')],
    [
      'endFormerSecret',
      ({ operator }) => operator.endFormerSecret('a', 'b', { formerExpiresAt: new Date(0).toISOString() }),
    ],
    ['revokeApiKey', ({ operator }) => operator.revokeApiKey('a', 'b')],
    ['deleteUser', ({ operator }) => operator.deleteUser('a')],
  ])('is no success of %s', async (_, call) => {
    const page = scripted({ answers: [() => new Response('<html>')] });
    expect(await thrown(page.world.until(call(page)))).toMatchObject({
      code: 'bad_answer',
      status: 200,
      mayBeDone: true,
    });
    const own = scripted({ answers: [() => new Response(null, { status: 204 })] });
    await expect(own.world.until(call(own))).resolves.toBeUndefined();
  });
});

describe('a proxy that cuts held polls', () => {
  type Cut = 'reset' | 'refused' | 502 | 503 | 504;
  /**
   * A proxy that ends polls which are to be held for as long as it waits; the service ends the others after their wait.
   */
  function behind(cutSeconds: number, as: Cut = 'reset') {
    const world = new SimulatedWorld();
    const asked: number[] = [];
    const proxy = { cutSeconds, laterBy: 0 };
    const fetch: typeof globalThis.fetch = async (_url, init) => {
      const wait = Number(/wait=(\d+)/.exec(new Headers(init?.headers).get('prefer') ?? '')?.[1] ?? 0);
      asked.push(wait);
      const isCut = wait >= proxy.cutSeconds;
      await world.sleep((isCut ? proxy.cutSeconds : wait) * 1000);
      proxy.cutSeconds += proxy.laterBy;
      if (!isCut) return new Response(null, { status: 304, headers: { etag: '"a"' } });
      if (typeof as === 'number') return new Response('<h1>a proxy</h1>', { status: as });
      throw as === 'reset' ? brokenOff() : broken('ECONNREFUSED');
    };
    const device = new DeviceClient({ url: 'http://service', credential: 'c', fetch, timing: world, random: () => 0 });
    const poll = (waitSeconds = 50) => world.until(device.pollConfig({ etag: '"a"', waitSeconds }));
    return { world, proxy, asked, poll };
  }

  test.each<[Cut, number, number]>([
    ['reset', 30, 24],
    [504, 30, 24],
    [502, 20, 16],
    [504, 7, 5],
  ])('by %s after %d s is asked for %d s from the second time on', async (as, cutSeconds, less) => {
    const { asked, poll } = behind(cutSeconds, as);
    await poll();
    expect(asked).toEqual([50, 50, less]);
    await poll();
    await poll(3);
    expect(asked.slice(3)).toEqual([less, 3]);
  });

  test('after the very time that is asked for is learnt too, by the next poll at the latest', async () => {
    const { asked, poll } = behind(50, 504);
    await poll().catch(() => undefined);
    asked.length = 0;
    await poll();
    expect(asked).toEqual([40]);
  });

  test('after 2 s is asked for no wait: polls that are held so shortly would be too many', async () => {
    const { asked, poll } = behind(2);
    await poll();
    expect(asked).toEqual([50, 50, 0]);
  });

  test('is asked for the whole wait once an hour, in case that it is gone', async () => {
    const { world, proxy, asked, poll } = behind(30);
    await poll();
    await world.until(world.sleep(3_600_000));
    asked.length = 0;
    await poll();
    expect(asked).toEqual([50, 50, 24]);
    proxy.cutSeconds = 100;
    await world.until(world.sleep(3_600_000));
    asked.length = 0;
    await poll();
    await poll();
    expect(asked).toEqual([50, 50]);
  });

  test.each<[string, Cut, number]>([
    ['that come after different times', 'reset', 5],
    ['that nobody listened to', 'refused', 0],
    ['that a proxy without a service answers', 503, 0],
  ])('cuts %s are those of an outage, and the whole wait is asked for', async (_what, as, laterBy) => {
    const { asked, poll, proxy } = behind(15, as);
    proxy.laterBy = laterBy;
    for (let polls = 0; polls < 3; polls += 1) await poll().catch(() => undefined);
    expect(asked.length).toBeGreaterThan(3);
    expect(new Set(asked)).toEqual(new Set([50]));
  });

  test('one cut alone, between polls that are held, says nothing', async () => {
    const { asked, poll, proxy } = behind(100);
    for (let polls = 0; polls < 3; polls += 1) {
      proxy.cutSeconds = 100;
      await poll();
      proxy.cutSeconds = 30;
      const cut = poll();
      proxy.cutSeconds = 100;
      await cut;
    }
    expect(new Set(asked)).toEqual(new Set([50]));
  });
});
