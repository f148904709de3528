import { fingerprintOf } from '../../packed/hash.ts';
import { PackedNumbers } from '../../packed/number-map.ts';
import type { Clock } from '../../time/clock.ts';

/** A guard against a daemon that runs wild, per credential and replica (docs/CONTRACT.md#device-rate). */
export interface DeviceRate {
  /** Seconds until the next request is worth trying; undefined where this one is admitted. */
  refuse(appId: string): number | undefined;
}

const WINDOW_MS = 60_000;

/** What one number says of a device: requests of the minute that it last came in, and of the one before that. */
interface Counts {
  readonly minute: number;
  readonly last: number;
  readonly current: number;
}

/** More than a minute may have (`MUSTER_DEVICE_RATE_PER_MINUTE`), and half a year of minutes: 52 bits. */
const COUNT_LIMIT = 2 ** 17;
const MINUTE_LIMIT = 2 ** 18;

const packed = ({ minute, last, current }: Counts): number => (minute * COUNT_LIMIT + last) * COUNT_LIMIT + current;

function countsAt(value: number, minute: number): Counts {
  const [current, rest] = [value % COUNT_LIMIT, Math.floor(value / COUNT_LIMIT)];
  const [last, then] = [rest % COUNT_LIMIT, Math.floor(rest / COUNT_LIMIT)];
  if (then === minute) return { minute, last, current };
  return { minute, last: isNext(minute, then) ? current : 0, current: 0 };
}

const isNext = (minute: number, then: number): boolean => minute === (then + 1) % MINUTE_LIMIT;

/**
 * Counts in whole minutes, and weighs the last minute by how much of it still lies in the sliding one. 20 to 30 bytes
 * for each device that came within the last two minutes or so, by a fingerprint of its id: that two of a million share
 * one is a matter of 1 in 20,000, and two counts that are one refuse nobody who polls as told.
 */
export function createDeviceRate(perMinute: number, clock: Clock): DeviceRate {
  let minute = 0;
  const isStale = (value: number): boolean => {
    const { last, current } = countsAt(value, minute);
    return last === 0 && current === 0;
  };
  const devices = new PackedNumbers({ isStale });

  return {
    refuse(appId) {
      const now = clock.monotonic();
      minute = Math.floor(now / WINDOW_MS) % MINUTE_LIMIT;
      const elapsed = (now % WINDOW_MS) / WINDOW_MS;
      const device = fingerprintOf(appId);
      const { last, current } = countsAt(devices.get(device) ?? 0, minute);
      if (current + last * (1 - elapsed) + 1 <= perMinute) {
        devices.set(device, packed({ minute, last, current: current + 1 }));
        return undefined;
      }
      return secondsUntilRoom(perMinute, current, last, elapsed);
    },
  };
}

/** Room comes as the earlier count leaves the sliding minute: first the last minute's, then this one's. */
function secondsUntilRoom(perMinute: number, used: number, before: number, elapsed: number): number {
  const allowed = perMinute - 1;
  const shareInThis = before > 0 ? (before - (allowed - used)) / before : Number.POSITIVE_INFINITY;
  if (used <= allowed && shareInThis <= 1) return Math.max(1, Math.ceil((shareInThis - elapsed) * 60));
  const shareInNext = used > 0 ? Math.max(0, (used - allowed) / used) : 0;
  return Math.max(1, Math.ceil((1 - elapsed + shareInNext) * 60));
}
