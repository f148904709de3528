const CHARACTERS_MAX = 300;

/** Parts of a message that are others each time; a message that has none is the same for the same cause. */
const CHANGING: readonly (readonly [part: RegExp, instead: string])[] = [
  // The client's own address and port: `read tcp 10.0.0.1:45678->10.96.0.1:443: connection reset`.
  [/(?:\d{1,3}(?:\.\d{1,3}){3}|\[[\da-f:]+\]):\d{1,5}->/gi, ''],
  [/\b[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}\b/gi, '…'],
  [/\b\d{4}-\d{2}-\d{2}T[\d:.]+(?:Z|[+-]\d{2}:\d{2})?/g, '…'],
  [/\b0x[\da-f]{6,}\b/gi, '…'],
  [/\b\d{6,}\b/g, '…'],
];

/**
 * The words of an API server for a condition: one line, at most 300 characters and without a full stop at the end. Ids,
 * instants and numbers that are others in each answer are left out, so that the same failure is written once.
 */
export function plainWords(text: string): string {
  // Control characters and line ends, and what turns the direction of writing.
  let words = text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();
  for (const [part, instead] of CHANGING) words = words.replaceAll(part, instead);
  const characters = Array.from(words);
  if (characters.length > CHARACTERS_MAX)
    return `${characters
      .slice(0, CHARACTERS_MAX - 1)
      .join('')
      .trimEnd()}…`;
  return words.replace(/[.\s]+$/, '');
}
