import type { Clock } from '../clock.ts';

/** A guard against a daemon gone wild, per credential and replica; a guard, not a contract (DECISIONS, device plane). */
export interface DeviceRate {
  /** Seconds until the next request is worth trying; undefined where this one is admitted. */
  refuse(appId: string): number | undefined;
}

const WINDOW_MS = 60_000;

/**
 * Counts in whole minutes, and weighs the last minute by how much of it still lies in the sliding one. Two maps that
 * are swapped need no clean-up and no timer, and cost nothing for devices that are silent.
 */
export function createDeviceRate(perMinute: number, clock: Clock): DeviceRate {
  let minute = Math.floor(clock.monotonic() / WINDOW_MS);
  let current = new Map<string, number>();
  let last = new Map<string, number>();

  function turn(now: number): void {
    const is = Math.floor(now / WINDOW_MS);
    if (is === minute) return;
    last = is === minute + 1 ? current : new Map<string, number>();
    current = new Map();
    minute = is;
  }

  return {
    refuse(appId) {
      const now = clock.monotonic();
      turn(now);
      const elapsed = (now % WINDOW_MS) / WINDOW_MS;
      const used = current.get(appId) ?? 0;
      const before = last.get(appId) ?? 0;
      if (used + before * (1 - elapsed) + 1 <= perMinute) {
        current.set(appId, used + 1);
        return undefined;
      }
      return secondsUntilRoom(perMinute, used, before, elapsed);
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
