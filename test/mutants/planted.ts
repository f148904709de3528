import type { Mutant } from './mutant.ts';

/**
 * The text of the file with the slip in it.
 * @throws Error when the search text does not occur exactly once, or the slip changes nothing: the code has moved on,
 * and the slip must follow it
 */
export function planted({ name, file, search, replacement }: Mutant, text: string): string {
  const parts = text.split(search);
  if (search === '' || parts.length !== 2) {
    throw new Error(`${name}: its search text occurs ${parts.length - 1} times in ${file}, and not once.`);
  }
  if (replacement === search) throw new Error(`${name}: its replacement changes nothing.`);
  return parts.join(replacement);
}
