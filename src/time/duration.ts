const UNIT_MS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Reads a duration such as `90s`, `5m`, `12h` or `7d`: a whole number and its unit. @returns milliseconds; undefined for another text */
export function parseDuration(text: string): number | undefined {
  const [, number, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  return number === undefined ? undefined : Number(number) * UNIT_MS[unit as keyof typeof UNIT_MS];
}
