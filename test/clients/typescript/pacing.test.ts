import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { OwnerClient, type RetryEvent } from '#client';
import { createLocalRateWindow, type LocalRateWindow } from '../../../src/domain/rate-window/local-window.ts';
import { runs } from '../../support/run/effort.ts';
import { SimulatedWorld } from '../../support/time/simulated-world.ts';

/* The pace of an owner's calls, in simulated time, against the service's own window of 600 in 60 s. */

const ACCOUNT = 'account';

interface Setting {
  readonly calls: number;
  /** So many calls go on side by side. */
  readonly abreast: number;
  /** Milliseconds that a request, and its answer, are on their way. */
  readonly wayMs: (call: number) => number;
  /** What others spend of the account meanwhile; it waits in simulated time alone. */
  readonly others?: (charge: () => Promise<void>, world: SimulatedWorld) => Promise<void>;
  readonly clients?: number;
}

interface Outcome {
  readonly tookMs: number;
  /** The longest time without a request on its way. */
  readonly pauseMsMax: number;
  readonly limited: number;
  /** The fewest requests that were left. */
  readonly leftMin: number;
  /** When each request was sent, from the start on. */
  readonly sentAt: readonly number[];
}

async function looped({ calls, abreast, wayMs, others, clients = 1 }: Setting): Promise<Outcome> {
  const world = new SimulatedWorld();
  const window = createLocalRateWindow({ monotonic: world.now });
  const startedAt = world.now();
  const sentAt: number[] = [];
  let [limited, leftMin, pauseMsMax, inFlight, idleSince] = [0, 600, 0, 0, startedAt];
  const fetch = async (): Promise<Response> => {
    const call = sentAt.push(world.now() - startedAt);
    if (inFlight === 0) pauseMsMax = Math.max(pauseMsMax, world.now() - idleSince);
    inFlight += 1;
    await world.sleep(wayMs(call));
    const answer = await charged(window);
    if (answer.status === 429) limited += 1;
    leftMin = Math.min(leftMin, Number(/r=(\d+)/.exec(answer.headers.get('ratelimit') ?? '')?.[1]));
    await world.sleep(wayMs(call + 1));
    inFlight -= 1;
    idleSince = world.now();
    return answer;
  };
  // Where others use the account up, a call may have to wait for more than a minute.
  const timeoutMs = others || clients > 1 ? 300_000 : undefined;
  const options = { url: 'http://service', apiKey: 'key', fetch, timing: world, random: () => 0.5, timeoutMs };
  const owners = Array.from({ length: clients }, () => new OwnerClient(options));
  const each = owners.map(async (owner) => {
    let left = calls;
    const worker = async (): Promise<void> => {
      for (; left > 0;) {
        left -= 1;
        await owner.createApp();
      }
    };
    await Promise.all(Array.from({ length: abreast }, worker));
  });
  const stranger = others?.(async () => void (await window.charge(ACCOUNT)), world);
  await world.until(Promise.all([...each, stranger]));
  return { tookMs: world.now() - startedAt, pauseMsMax, limited, leftMin, sentAt };
}

/** As `api/v1/rate-limit.ts` spells a decision; a test below holds the two together. */
async function charged(window: LocalRateWindow): Promise<Response> {
  const { admitted, left, freesInSeconds } = await window.charge(ACCOUNT);
  const headers = {
    'ratelimit-policy': '"account";q=600;w=60',
    ratelimit: `"account";r=${left};t=${freesInSeconds}`,
    ...(!admitted && { 'retry-after': String(freesInSeconds) }),
  };
  const body = admitted ? { appId: 'a' } : { error: { code: 'rate_limited', message: 'Too many.' } };
  return new Response(JSON.stringify(body), { status: admitted ? 201 : 429, headers });
}

const perSecond = (sentAt: readonly number[], from: number): number =>
  sentAt.filter((at) => at >= from && at < from + 10_000).length / 10;

describe('a loop that is alone on its account', () => {
  test('sends 120 at once, then evenly: 1000 creates within 130 s, no 429, no pause above 2 s', async () => {
    const { tookMs, pauseMsMax, limited, leftMin, sentAt } = await looped({ calls: 1000, abreast: 1, wayMs: () => 5 });
    expect(limited).toBe(0);
    // Something stays for whoever else has the key.
    expect(leftMin).toBeGreaterThan(30);
    expect(tookMs).toBeLessThan(130_000);
    expect(pauseMsMax).toBeLessThan(2000);
    // Nothing waits while more than 480 are left.
    expect(sentAt[119]).toBe(119 * 10);
    expect(perSecond(sentAt, 10_000)).toBeCloseTo(8, 0);
    expect(perSecond(sentAt, 80_000)).toBeCloseTo(8, 0);
  });

  test('keeps that however far the service is, and however many calls go on side by side', async () => {
    const setting = fc.record({
      abreast: fc.oneof(fc.constant(1), fc.integer({ min: 2, max: 60 })),
      wayMsMax: fc.integer({ min: 0, max: 60 }),
      seed: fc.integer(),
    });
    await fc.assert(
      fc.asyncProperty(setting, async ({ abreast, wayMsMax, seed }) => {
        // Ways of different lengths: requests overtake each other, and so do answers.
        const wayMs = (call: number): number => Math.abs(Math.sin(call * 12.9898 + seed)) * wayMsMax;
        const { tookMs, pauseMsMax, limited } = await looped({ calls: 1000, abreast, wayMs });
        expect(limited).toBe(0);
        expect(tookMs).toBeLessThan(130_000);
        expect(pauseMsMax).toBeLessThan(2000);
      }),
      { numRuns: runs(6) },
    );
  });

  test('1000 calls that begin together end likewise', async () => {
    const { tookMs, limited } = await looped({ calls: 1000, abreast: 1000, wayMs: (call) => 20 + (call % 7) });
    expect(limited).toBe(0);
    expect(tookMs).toBeLessThan(130_000);
  });
});

describe('an account that others use, too', () => {
  test('what others had spent is known from the first answer on: calls that begin together feel no 429', async () => {
    const others = async (charge: () => Promise<void>): Promise<void> => {
      for (let spent = 0; spent < 590; spent += 1) await charge();
    };
    const { limited, tookMs } = await looped({ calls: 300, abreast: 50, wayMs: () => 10, others });
    expect(limited).toBe(0);
    // What others had spent at once is free after a minute, at once.
    expect(tookMs).toBeGreaterThan(60_000);
    expect(tookMs).toBeLessThan(100_000);
  });

  test('two programs with the same key share what there is', async () => {
    const { limited, tookMs, pauseMsMax } = await looped({ calls: 500, abreast: 4, wayMs: () => 10, clients: 2 });
    expect(limited).toBeLessThan(10);
    expect(tookMs).toBeLessThan(150_000);
    // They become slower together, and do not stop.
    expect(pauseMsMax).toBeLessThan(4000);
  });

  test('every call succeeds in the end, whatever others spend', async () => {
    const bursts = fc.array(fc.record({ afterMs: fc.nat(30_000), spent: fc.nat(600) }), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(bursts, fc.integer({ min: 1, max: 30 }), async (bursts, abreast) => {
        const others = async (charge: () => Promise<void>, world: SimulatedWorld): Promise<void> => {
          for (const { afterMs, spent } of bursts) {
            await world.sleep(afterMs);
            for (let count = 0; count < spent; count += 1) await charge();
          }
        };
        const { limited } = await looped({ calls: 400, abreast, wayMs: (call) => 5 + (call % 3), others });
        // Those on their way when a burst came, and some that look whether it is over.
        expect(limited).toBeLessThanOrEqual(bursts.length * (abreast + 5));
      }),
      { numRuns: runs(6) },
    );
  });
});

describe('what is known of the rate', () => {
  /** A client in a world whose service answers with these fields, and when it sent what. */
  function answeredWith(fields: (call: number) => Record<string, string>) {
    const world = new SimulatedWorld();
    const sentAt: number[] = [];
    const events: RetryEvent[] = [];
    const startedAt = world.now();
    const fetch = async (): Promise<Response> => {
      const call = sentAt.push(world.now() - startedAt);
      await world.sleep(1);
      return new Response('{"apps":[]}', { headers: fields(call) });
    };
    const onRetry = (event: RetryEvent): void => void events.push(event);
    const owner = new OwnerClient({ url: 'http://service', apiKey: 'key', fetch, timing: world, onRetry });
    return { world, owner, sentAt, startedAt };
  }

  test('a wider window of the service is paced by its own numbers', async () => {
    const { world, owner, sentAt } = answeredWith((call) => ({
      'ratelimit-policy': '"account";q=60000;w=60',
      ratelimit: `"account";r=${50_000 - call};t=60`,
    }));
    const all = Promise.all(Array.from({ length: 300 }, () => owner.listApps()));
    await world.until(all);
    expect(sentAt.at(-1)).toBeLessThan(10);
  });

  test.each([
    ['none', {}],
    ['those of another policy', { ratelimit: '"other";r=0;t=60' }],
    ['broken ones', { ratelimit: '"account";r=x;t=60' }],
  ])('fields that are %s hold nothing up', async (_, fields) => {
    const { world, owner, sentAt } = answeredWith(() => fields);
    await world.until(Promise.all(Array.from({ length: 300 }, () => owner.listApps())));
    expect(sentAt.at(-1)).toBeLessThan(10);
  });

  test('what is a minute old is not known any more: one call finds out, and the others wait for it', async () => {
    const { world, owner, sentAt, startedAt } = answeredWith((call) => ({
      ratelimit: `"account";r=${600 - call};t=60`,
    }));
    await world.until(owner.listApps());
    await world.until(world.sleep(60_000));
    sentAt.length = 0;
    const at = world.now() - startedAt;
    await world.until(Promise.all([owner.listApps(), owner.listApps(), owner.listApps()]));
    expect(sentAt.map((one) => one - at)).toEqual([0, 1, 1]);
  });

  test.each([
    ['"account";q=600;w=60', 65_000, 'a minute, and a little'],
    ['"account";q=600;w=600', 605_000, 'the longest window that is believed'],
    ['"account";q=600;w=601', 65_000, 'a longer one is not'],
  ])('an answer holds a first turn up no longer than its window (%s): %i ms', async (policy, waitMs) => {
    const { world, owner, sentAt } = answeredWith(() => ({
      'ratelimit-policy': policy,
      ratelimit: '"account";r=0;t=100000000',
    }));
    await world.until(owner.listApps());
    await world.until(owner.listApps());
    expect(sentAt[1]).toBeLessThanOrEqual(waitMs + 10);
    expect(sentAt[1]).toBeGreaterThan(waitMs - 6000);
  });

  test('an answer that does not come holds the others up for a second', async () => {
    const world = new SimulatedWorld();
    const sentAt: number[] = [];
    const startedAt = world.now();
    const fetch = async (): Promise<Response> => {
      if (sentAt.push(world.now() - startedAt) === 1) await world.sleep(14_000);
      return new Response('{"apps":[]}', { headers: { ratelimit: '"account";r=590;t=60' } });
    };
    const owner = new OwnerClient({ url: 'http://service', apiKey: 'key', fetch, timing: world });
    await world.until(Promise.all([owner.listApps(), owner.listApps()]));
    expect(sentAt).toEqual([0, 1000]);
  });

  test('an answer that was overtaken by a newer one changes nothing', async () => {
    const world = new SimulatedWorld();
    const sentAt: number[] = [];
    const answers = [
      { afterMs: 2500, left: 590 },
      { afterMs: 500, left: 0 },
    ];
    const fetch = async (): Promise<Response> => {
      const { afterMs, left } = answers[sentAt.push(world.now()) - 1] ?? { afterMs: 1, left: 500 };
      await world.sleep(afterMs);
      return new Response('{"apps":[]}', { headers: { ratelimit: `"account";r=${left};t=30` } });
    };
    const owner = new OwnerClient({ url: 'http://service', apiKey: 'key', fetch, timing: world });
    await world.until(Promise.all([owner.listApps(), owner.listApps(), owner.listApps()]));
    const [first = 0, second = 0, third = 0] = sentAt;
    expect([second - first, third - first]).toEqual([1000, 31_500]);
  });

  test('a call that was sent already goes before those that were not', async () => {
    const world = new SimulatedWorld();
    const paths: string[] = [];
    const fetch: typeof globalThis.fetch = async (url) => {
      const path = new URL(url).pathname.slice('/v1/apps/'.length);
      paths.push(path);
      await world.sleep(1);
      const isRefused = path === 'b' && !paths.slice(0, -1).includes('b');
      const headers = { ratelimit: `"account";r=100;t=1`, ...(isRefused && { 'retry-after': '0' }) };
      return new Response(isRefused ? '{}' : '{"appId":"x"}', { status: isRefused ? 502 : 200, headers });
    };
    const owner = new OwnerClient({ url: 'http://service', apiKey: 'key', fetch, timing: world, random: () => 0 });
    await world.until(Promise.all(['a', 'b', 'c', 'd'].map((id) => owner.readApp(id))));
    expect(paths).toEqual(['a', 'b', 'b', 'c', 'd']);
  });

  test('a call that is aborted while it waits for its turn gives it up at once', async () => {
    const { world, owner, sentAt } = answeredWith(() => ({ ratelimit: '"account";r=0;t=50' }));
    await world.until(owner.listApps());
    const controller = new AbortController();
    const waiting = owner.listApps({ signal: controller.signal });
    const next = owner.listApps();
    controller.abort(new Error('enough'));
    await expect(world.until(waiting)).rejects.toMatchObject({ code: 'aborted', status: 0 });
    expect(sentAt).toHaveLength(1);
    await world.until(next);
    expect(sentAt[1]).toBeGreaterThanOrEqual(50_000);
  });
});
