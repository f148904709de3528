import stringWidth from 'string-width';

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** How many columns of a terminal a printable text takes; it has no controls by then, and so no escapes. */
export const widthOf = (text: string): number => stringWidth(text, { countAnsiEscapeCodes: true });

/** Cuts a text to at most so many columns (1 or more); what is cut off is shown by `…`. No character is cut in two. */
export function cutTo(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let [kept, width] = ['', 0];
  for (const { segment } of segmenter.segment(text)) {
    width += widthOf(segment);
    if (width > columns - 1) break;
    kept += segment;
  }
  // Isolated text stays so.
  return `${kept}…${kept.startsWith('\u2068') ? '\u2069' : ''}`;
}

/** Fills a text up with blanks to so many columns. */
export function padTo(text: string, columns: number, side: 'left' | 'right'): string {
  const blanks = ' '.repeat(Math.max(0, columns - widthOf(text)));
  return side === 'left' ? text + blanks : blanks + text;
}
