import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect, test } from 'vitest';
import type { Watched } from '../../../src/api/contract/panel/live.ts';
import { LiveStream } from '../../../src/api/panel/live/live-stream.ts';
import { createWatchedRounds, type WatchedRoundsDeps } from '../../../src/api/panel/live/watched-rounds.ts';
import { Refusal } from '../../../src/domain/refusal.ts';
import { createLog } from '../../../src/log.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

type Read = (what: Watched, accountId: string) => Promise<object>;

/** Rounds over reads that the test answers. */
function rounds(read: Read) {
  const clock = new FakeClock();
  const logged: string[] = [];
  const log = createLog('info', { write: (line: string) => void logged.push(line) });
  const of = (what: Watched) => (accountId: string) => read(what, accountId);
  const watched = { rollout: of('rollout'), reviews: of('reviews'), usage: of('usage'), limits: of('limits') };
  const round = createWatchedRounds({ watched: watched as WatchedRoundsDeps['watched'], clock, log });
  return { clock, logged, round };
}

/** A stream, with the texts that it has written. */
function stream(accounts: readonly string[], watched: readonly Watched[]) {
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  const written: string[] = [];
  response.write = (text: string) => written.push(text) > 0;
  const follower = { userId: 'ann', sessionId: 'session', accounts: new Set(accounts), watched: new Set(watched) };
  const live = new LiveStream(follower, [], response);
  return {
    live,
    flushed: () => {
      live.flush(7);
      return written.splice(0);
    },
  };
}

const hint = (account: string, topic: Watched): string =>
  `id: 7\nevent: hint\ndata: ${JSON.stringify({ account, topic })}\n\n`;

test('what several streams watch is read once; each is told at first, and again only when it has changed', async () => {
  const reads: string[] = [];
  let devices = 1;
  const { round } = rounds(async (what, accountId) => {
    reads.push(`${accountId} ${what}`);
    return { devices };
  });
  const [first, second] = [stream(['one'], ['rollout']), stream(['one', 'two'], ['rollout'])];
  await round([first.live, second.live]);
  expect(reads).toEqual(['one rollout', 'two rollout']);
  expect(first.flushed()).toEqual([hint('one', 'rollout')]);
  expect(second.flushed()).toEqual([hint('one', 'rollout') + hint('two', 'rollout')]);
  await round([first.live, second.live]);
  expect([first.flushed(), second.flushed()]).toEqual([[], []]);
  devices = 2;
  const third = stream(['one'], ['rollout', 'limits']);
  await round([first.live, third.live]);
  expect(first.flushed()).toEqual([hint('one', 'rollout')]);
  expect(third.flushed()).toEqual([hint('one', 'rollout') + hint('one', 'limits')]);
});

test('what cannot be read is logged at most once a minute, and the others are read all the same', async () => {
  const { clock, logged, round } = rounds(async (what) => {
    if (what === 'usage') throw new Error('the store is away');
    if (what === 'reviews') throw new Refusal('not_found');
    return {};
  });
  const one = stream(['one'], ['usage', 'reviews', 'rollout']);
  for (let count = 0; count < 12; count += 1) {
    await round([one.live]);
    clock.advance(5000);
  }
  expect(logged.length).toBe(1);
  expect(logged[0]).toContain('the store is away');
  await round([one.live]);
  expect(logged.length).toBe(2);
  expect(one.flushed()).toEqual([hint('one', 'rollout')]);
});

test('few reads are under way at once', async () => {
  let [underWay, most] = [0, 0];
  const { round } = rounds(async () => {
    underWay += 1;
    most = Math.max(most, underWay);
    await Promise.resolve();
    underWay -= 1;
    return {};
  });
  const many = Array.from({ length: 40 }, (_, index) => stream([`account ${index}`], ['rollout', 'usage']).live);
  await round(many);
  expect(most).toBe(8);
});
