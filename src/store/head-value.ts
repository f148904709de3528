import type { Change } from './port.ts';

/*
 * The value of `head`: 64 random bits in hexadecimal, and after a dot the newest instant (milliseconds since 1970) of
 * the changes that were committed with it, in base 36. Programs that do not know the instant compare the value as a
 * whole.
 */

/** The epoch id of changes that are committed together. @param random 64 bits in hexadecimal */
export function epochIdOf(random: string, changes: readonly Pick<Change, 'at' | 'quiet'>[]): string {
  const instants = changes.map(({ at = 0, quiet }) => (quiet === true ? 0 : at));
  const newest = Math.max(0, ...instants);
  return newest === 0 ? random : `${random}.${newest.toString(36)}`;
}

/** The instant in an epoch id; 0 where there is none. */
export function instantOf(epochId: string): number {
  const [, text = ''] = epochId.split('.');
  return /^[0-9a-z]{1,9}$/.test(text) ? Number.parseInt(text, 36) : 0;
}
