import type { Log } from '../../log.ts';
import { StoreUnavailable } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import type { Fleet } from './fleet.ts';
import type { FleetReader } from './reader.ts';

/** Something that lasts, such as a held poll or a stream of events, and that changes of memory end. */
interface Lasting {
  /** For the log. */
  readonly name: string;
  /** Whether there is any now. */
  isThere(): boolean;
  /** Memory is behind the store, and the watch may be silent. @param reader of the store @throws StoreUnavailable */
  judge(reader: FleetReader): Promise<void>;
  /** The store was lost, and may never come back (A14). */
  storeLost(): void;
}

/**
 * Held polls and streams of events are told by the watch of the store that a right or a configuration has changed. As
 * long as there are some, the pulse asks once a second, by one read of `head` for all of them, whether memory is as new
 * as the store. Where it is not, they are judged by the store itself.
 */
export interface Pulse {
  /** @returns begins the pulse, and does nothing while it beats; to be called when there is a first one */
  join(lasting: Lasting): () => void;
}

/** Together with the read of `head`, and of what has changed, what lasts ends within two seconds of a change. */
const EVERY_MS = 1000;
const PAUSE_MS_MIN = 100;

/** Creates the pulse of a replica; see `Pulse`. */
export function createPulse({
  fleet,
  clock,
  log,
  stopping,
}: {
  readonly fleet: Fleet;
  readonly clock: Clock;
  readonly log: Log;
  readonly stopping: AbortSignal;
}): Pulse {
  const all: Lasting[] = [];
  const there = (): readonly Lasting[] => all.filter((one) => one.isThere());
  let isBeating = false;

  async function beat(): Promise<void> {
    try {
      const reader = await fleet.current();
      if (!reader.atOnce) await Promise.all(there().map((one) => judged(one, reader)));
    } catch (error) {
      // While the store does not answer nothing is known of a change, and nobody could be authenticated. What is lost
      // may never come back: then all ends as new requests do (A14).
      if (error instanceof StoreUnavailable && error.reason === 'replaced') for (const one of there()) one.storeLost();
    }
  }

  /** A store that is lost is told by the read of `head`; any other fault holds up none of the others. */
  async function judged(one: Lasting, reader: FleetReader): Promise<void> {
    try {
      await one.judge(reader);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) log.error({ err: error, what: one.name }, 'what lasts is not judged');
    }
  }

  async function run(): Promise<void> {
    for (let pauseMs = EVERY_MS; ;) {
      await clock.sleep(pauseMs, stopping);
      if (stopping.aborted || there().length === 0) break;
      const startedAt = clock.monotonic();
      await beat();
      // A listing of very many accounts takes a part of the second.
      pauseMs = Math.max(PAUSE_MS_MIN, EVERY_MS - (clock.monotonic() - startedAt));
    }
    isBeating = false;
  }

  return {
    join(lasting) {
      all.push(lasting);
      return () => {
        if (isBeating) return;
        isBeating = true;
        void run();
      };
    },
  };
}
