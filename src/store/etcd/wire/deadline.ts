import type { Client } from '@grpc/grpc-js';
import type { CallOptions } from '@grpc/grpc-js';
import { systemClock } from '../../../time/clock.ts';
import { GRPC, type GrpcTrouble } from './errors.ts';

/**
 * The deadlines of calls, as instants of the monotonic clock: a wall clock that jumps fails no call and lengthens none.
 * The type keeps an instant of the wall clock from being passed for one.
 *
 * gRPC takes instants of the wall clock instead, and reads it several times. grpc-js 1.14 starts its timer when a call
 * is made, tells the server what is left when the call is sent, which is later, and compares anew at every change of a
 * connection that is waited for. A jump in between would fail the call, or let it wait for an hour. gRPC is therefore
 * given no deadline: a timer of this process ends the call and cancels it. The server is told of the cancellation, or,
 * where the wire is silent, ends the call by its own limits.
 */
export type Deadline = number & { readonly clock: 'monotonic' };

/** The options of a call, which etcd3 hands through unread; `until` is its deadline. */
export interface TimedOptions extends CallOptions {
  readonly until: Deadline;
}

/** The deadline that lies so many milliseconds ahead. */
export const deadlineIn = (ms: number): Deadline => (systemClock.monotonic() + ms) as Deadline;

/** The latest of some deadlines. */
export const latest = (deadlines: readonly Deadline[]): Deadline => Math.max(...deadlines) as Deadline;

/** Whole milliseconds until the deadline; 0 once it has passed. A timer of that length may end a millisecond early. */
export const leftMs = (deadline: Deadline): number =>
  // The microsecond that is taken off exceeds the rounding error of the subtraction.
  Math.max(0, Math.ceil(deadline - systemClock.monotonic() - 0.001));

/** The deadline at half of the time that is left; the whole one where a half is shorter than so many milliseconds. */
export function halfOf(deadline: Deadline, msMin: number): Deadline {
  const half = leftMs(deadline) / 2;
  return half < msMin ? deadline : deadlineIn(half);
}

/** The error of a call that had no answer by its deadline, in the shape of gRPC's own. */
export class DeadlineExceeded extends Error implements GrpcTrouble {
  readonly code = GRPC.deadlineExceeded;
  readonly details: string;

  constructor(details: string) {
    super(details);
    this.details = details;
  }
}

/** The state of a channel whose connection stands. */
export const READY = 2;

/**
 * Whether a connection stands at the deadline. gRPC's own `waitForReady` keeps its deadline on the wall clock, and
 * reads it anew at every change of the connection.
 */
export async function isReadyBy(client: Client, deadline: Deadline): Promise<boolean> {
  const channel = client.getChannel();
  return new Promise((resolve) => {
    let over = false;
    const end = (ready: boolean): void => {
      over = true;
      clearTimeout(expiry);
      resolve(ready);
    };
    const expiry = setTimeout(() => end(false), leftMs(deadline));
    const check = (): void => {
      if (over) return;
      try {
        const state = channel.getConnectivityState(true);
        const now: number = state;
        if (now === READY) end(true);
        else channel.watchConnectivityState(state, Infinity, check);
      } catch {
        // The channel was closed meanwhile.
        end(false);
      }
    };
    setImmediate(check);
  });
}
