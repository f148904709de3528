import { hash } from 'node:crypto';
import { Slots } from '../../../concurrency/slots.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { Log } from '../../../log.ts';
import type { Clock } from '../../../time/clock.ts';
import type { Watched } from '../../contract/panel/live.ts';
import type { WatchedReads } from './shared-reads.ts';
import type { LiveStream } from './live-stream.ts';

export interface WatchedRoundsDeps {
  readonly watched: Pick<WatchedReads, Watched>;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Log;
}

/** Reads of one round that are under way at once. */
const READ_TOGETHER_MAX = 8;
const FAULT_LOGGED_EVERY_MS = 60_000;

interface Wanted {
  readonly account: string;
  readonly what: Watched;
  readonly streams: LiveStream[];
}

/**
 * Reads what memory does not hold, and gathers hints for the streams to whom the answer is new.
 * @returns one round over the streams, which reads each thing once for all of them. It never rejects.
 */
export function createWatchedRounds({
  watched,
  clock,
  log,
}: WatchedRoundsDeps): (streams: Iterable<LiveStream>) => Promise<void> {
  let faultLoggedAt = Number.NEGATIVE_INFINITY;

  return async (streams) => {
    const slots = new Slots(READ_TOGETHER_MAX);
    await Promise.all(Array.from(wantedBy(streams), (one) => slots.run(() => read(one))));
  };

  async function read({ account, what, streams }: Wanted): Promise<void> {
    try {
      const digest = hash('sha256', JSON.stringify(await watched[what](account)), 'base64url');
      for (const stream of streams) stream.wasRead(account, what, digest);
    } catch (error) {
      if (!(error instanceof Refusal)) tellFault(error, what);
    }
  }

  /** It is read again in the next round. */
  function tellFault(error: unknown, what: Watched): void {
    if (clock.monotonic() - faultLoggedAt < FAULT_LOGGED_EVERY_MS) return;
    faultLoggedAt = clock.monotonic();
    log.info({ err: error, what }, 'what a page watches cannot be read');
  }
}

function wantedBy(streams: Iterable<LiveStream>): Iterable<Wanted> {
  const wanted = new Map<string, Wanted>();
  for (const stream of streams) {
    for (const account of stream.accounts) {
      for (const what of stream.watched) {
        const key = `${account} ${what}`;
        const one = wanted.get(key);
        if (one) one.streams.push(stream);
        else wanted.set(key, { account, what, streams: [stream] });
      }
    }
  }
  return wanted.values();
}
