/** The fault of a text, with its length counted in Unicode code points as JSON Schema does (A1). */
export type TextFault = 'too_long' | 'lone_surrogate';

/**
 * Judges a text by its length and its well-formedness; nothing is trimmed or normalised.
 *
 * @param rules.codePointsMax the most Unicode code points that pass; a lone surrogate counts as one
 * @returns undefined when the text is acceptable
 */
export function textFault(value: string, rules: { codePointsMax: number }): TextFault | undefined {
  if (exceeds(value, rules.codePointsMax)) return 'too_long';
  return value.isWellFormed() ? undefined : 'lone_surrogate';
}

/** A code point takes one or two code units, so only a text between the two bounds has to be walked. */
function exceeds(value: string, codePointsMax: number): boolean {
  if (value.length <= codePointsMax) return false;
  if (value.length > 2 * codePointsMax) return true;
  return Array.from(value).length > codePointsMax;
}

/** The text itself, or its beginning where it is longer; no code point is cut in two. */
export function cutText(value: string, { codePointsMax }: { codePointsMax: number }): string {
  if (!exceeds(value, codePointsMax)) return value;
  return Array.from(value.slice(0, 2 * codePointsMax))
    .slice(0, codePointsMax)
    .join('');
}
