const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Matches what a terminal draws in two columns: the wide scripts of East Asia, their full-width forms, and emoji. */
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]|^\p{Emoji_Presentation}|\ufe0f/u;
/** Matches a mark that is drawn over another character, or not at all. */
const NARROWEST = /^[\p{M}\p{Cf}]+$/u;

const PLAIN = /^[\x20-\x7e]*$/;

/** How many columns of a terminal a printable text takes. */
export function widthOf(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const { segment } of segmenter.segment(text)) width += columnsOf(segment);
  return width;
}

function columnsOf(grapheme: string): number {
  if (WIDE.test(grapheme)) return 2;
  return NARROWEST.test(grapheme) ? 0 : 1;
}

/** Cuts a text to at most so many columns (1 or more); what is cut off is shown by `…`. No character is cut in two. */
export function cutTo(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let [kept, width] = ['', 0];
  for (const { segment } of segmenter.segment(text)) {
    width += columnsOf(segment);
    if (width > columns - 1) break;
    kept += segment;
  }
  // What was isolated stays so.
  return `${kept}…${kept.startsWith('\u2068') ? '\u2069' : ''}`;
}

/** Fills a text up with blanks to so many columns. */
export function padTo(text: string, columns: number, side: 'left' | 'right'): string {
  const blanks = ' '.repeat(Math.max(0, columns - widthOf(text)));
  return side === 'left' ? text + blanks : blanks + text;
}
