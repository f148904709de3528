const UNIT_MS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** The forms of a duration, for the words that refuse another text. */
export const DURATION_FORMS = '90s, 5m, 12h or 7d';

/**
 * Reads a duration such as `90s`, `5m`, `12h` or `7d`: a whole number and its unit.
 * @returns milliseconds; undefined for another text
 */
function parseDuration(text: string): number | undefined {
  const [, number, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  return number === undefined ? undefined : Number(number) * UNIT_MS[unit as keyof typeof UNIT_MS];
}

/**
 * Reads a duration within bounds, which stand in the same form. A number without a unit is none: one reader takes it
 * for seconds, another for days.
 * @returns milliseconds; undefined for another text
 */
export function durationWithin(text: string, min: string, max: string): number | undefined {
  const ms = parseDuration(text);
  return ms !== undefined && ms >= (parseDuration(min) ?? 0) && ms <= (parseDuration(max) ?? 0) ? ms : undefined;
}
