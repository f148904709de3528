import { fingerprintOf } from '../../packed/hash.ts';
import { PackedNumbers } from '../../packed/number-map.ts';
import type { Clock } from '../../time/clock.ts';

/** A guard per app and replica against a daemon that polls without pause (docs/CONTRACT.md#device-rate). */
export interface DeviceRate {
  /** Counts a request. @returns seconds until the next one is worth trying; undefined where this one is admitted */
  refuse(appId: string): number | undefined;
}

const WINDOW_MS = 60_000;

/** The content of one number: a device's requests in the minute of its last request, and in the minute before that. */
interface Counts {
  readonly minute: number;
  readonly last: number;
  readonly current: number;
}

/** A count above any `MUSTER_DEVICE_RATE_PER_MINUTE`, twice, and half a year of minutes: together 52 bits. */
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
 * Counts in whole minutes, and weighs the last minute by how much of it still lies in the sliding one. Each device of
 * the last two minutes or so takes 20 to 30 bytes, under a fingerprint of its id. Two of a million devices share a
 * fingerprint with a probability of 1 in 20,000; their shared count refuses no device that polls at the interval it is
 * given.
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

/**
 * A request is admitted again as counts leave the sliding minute: first those of the last minute, then those of this
 * one.
 */
function secondsUntilRoom(perMinute: number, used: number, before: number, elapsed: number): number {
  const allowed = perMinute - 1;
  const shareInThis = before > 0 ? (before - (allowed - used)) / before : Number.POSITIVE_INFINITY;
  if (used <= allowed && shareInThis <= 1) return Math.max(1, Math.ceil((shareInThis - elapsed) * 60));
  const shareInNext = used > 0 ? Math.max(0, (used - allowed) / used) : 0;
  return Math.max(1, Math.ceil((1 - elapsed + shareInNext) * 60));
}
