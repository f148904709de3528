import { describe, expect, test } from 'vitest';
import { OwnerClient, type App, type AppEvent } from '#client';
import { SimulatedWorld } from '../../support/time/simulated-world.ts';

const app = (appId: string, fields: Partial<App> = {}): App => ({
  appId,
  name: appId,
  status: 'pending',
  platform: '',
  agentVersion: '',
  lastSeenAt: null,
  createdAt: '2026-01-01T00:00:00.000Z',
  ...fields,
});

type List = readonly App[] | Error | Response;

/** Watches a service whose lists come one after the other; the last one stays. */
function watching(lists: readonly List[]) {
  const world = new SimulatedWorld();
  const startedAt = world.now();
  const listedAt: number[] = [];
  const fetch: typeof globalThis.fetch = async () => {
    listedAt.push(world.now() - startedAt);
    const list = lists[listedAt.length - 1] ?? lists.at(-1) ?? [];
    if (list instanceof Error) throw list;
    return list instanceof Response ? list.clone() : new Response(JSON.stringify({ apps: list }));
  };
  const owner = new OwnerClient({ url: 'http://service', apiKey: 'key', fetch, timing: world, random: () => 1 });
  /** Takes so many events, each with the time at which it came. */
  async function take(count: number, options: Parameters<OwnerClient['watchApps']>[0] = {}) {
    const events: (AppEvent & { readonly at: number })[] = [];
    const taking = async (): Promise<void> => {
      for await (const event of owner.watchApps(options)) {
        events.push({ ...event, at: world.now() - startedAt });
        if (events.length === count) break;
      }
    };
    await world.until(taking());
    return events;
  }
  return { world, owner, listedAt, take };
}

describe('watchApps', () => {
  test('yields what is there as added, then what was added, changed and removed, every 10 s', async () => {
    const { take, listedAt } = watching([
      [app('a'), app('b')],
      [app('a'), app('b')],
      [app('b', { status: 'active' }), app('c')],
    ]);
    expect(await take(5)).toEqual([
      { type: 'added', app: app('a'), at: 0 },
      { type: 'added', app: app('b'), at: 0 },
      { type: 'removed', app: app('a'), at: 20_000 },
      { type: 'changed', app: app('b', { status: 'active' }), before: app('b'), at: 20_000 },
      { type: 'added', app: app('c'), at: 20_000 },
    ]);
    expect(listedAt).toEqual([0, 10_000, 20_000]);
  });

  test('takes a last contact for no change, and tells it with the next one', async () => {
    const seen = '2026-01-01T00:01:00.000Z';
    const { take } = watching([
      [app('a')],
      [app('a', { lastSeenAt: seen })],
      [app('a', { lastSeenAt: seen, agentVersion: '2' })],
    ]);
    const before = app('a', { lastSeenAt: seen });
    expect((await take(2)).at(-1)).toEqual({
      type: 'changed',
      app: app('a', { lastSeenAt: seen, agentVersion: '2' }),
      before,
      at: 20_000,
    });
  });

  test.each([
    [5000, 5000],
    [2000, 2000],
    [1999, 2000],
    [0, 2000],
    [Number.NaN, 2000],
  ])('everyMs %d is every %d ms', async (everyMs, every) => {
    const { take, listedAt } = watching([[], [app('a')]]);
    await take(1, { everyMs });
    expect(listedAt).toEqual([0, every]);
  });

  test('goes on through an outage of ten minutes, and tells the difference once', async () => {
    const outage = Array.from({ length: 60 }, () => new TypeError('fetch failed'));
    const { take, listedAt } = watching([[app('a')], ...outage, [app('b')]]);
    const events = await take(3);
    expect(events.map(({ type, app }) => `${type} ${app.appId}`)).toEqual(['added a', 'removed a', 'added b']);
    expect(listedAt).toHaveLength(62);
    expect(listedAt.at(-1)).toBeGreaterThan(300_000);
  });

  test('ends with what is no outage', async () => {
    const revoked = new Response('{"error":{"code":"invalid_key","message":"No."}}', { status: 401 });
    await expect(watching([[app('a')], revoked]).take(2)).rejects.toMatchObject({ code: 'invalid_key' });
  });

  test.each(['between two lists', 'in an outage', 'before it begins'])('is ended by its signal %s', async (when) => {
    const controller = new AbortController();
    const lists: List[] = [[app('a')]];
    if (when === 'in an outage') lists.push(new TypeError('fetch failed'));
    const { world, listedAt, take } = watching(lists);
    if (when === 'before it begins') controller.abort();
    else world.after(12_345, () => controller.abort());
    const startedAt = world.now();
    expect(await take(99, { signal: controller.signal })).toHaveLength(when === 'before it begins' ? 0 : 1);
    expect(world.now() - startedAt).toBe(when === 'before it begins' ? 0 : 12_345);
    if (when === 'before it begins') expect(listedAt).toEqual([]);
  });
});
