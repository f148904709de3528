const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const UNITS = [
  [DAY_MS, 'd'],
  [HOUR_MS, 'h'],
  [MINUTE_MS, 'min'],
  [SECOND_MS, 's'],
] as const;

/**
 * An instant as seen from another one, in the largest unit that fits, rounded down: `3 min ago`, `in 2 d`, `now`.
 * @param at milliseconds since 1970
 */
export function relativeTime(at: number, now: number): string {
  const apart = Math.abs(at - now);
  const [unit, name] = UNITS.find(([ms]) => apart >= ms) ?? [];
  if (unit === undefined || name === undefined) return 'now';
  const count = `${Math.floor(apart / unit)} ${name}`;
  return at < now ? `${count} ago` : `in ${count}`;
}
