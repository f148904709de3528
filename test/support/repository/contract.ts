import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './source-tree.ts';

/** A heading of the third level of docs/CONTRACT.md, with what stands below it. */
interface Rule {
  readonly title: string;
  readonly anchor: string;
  readonly text: string;
  /** The files that `Held by:` lists. */
  readonly heldBy: readonly string[];
  /** Whether it stands in the last section, of what is promised and not kept. */
  readonly isKept: boolean;
}

export const contract = readFileSync(join(ROOT, 'docs/CONTRACT.md'), 'utf8');

const ANCHOR = /<a id="([^"]*)"><\/a>/g;
const NOT_YET_KEPT = 'Not yet kept';

/** Every anchor, in the order of the document. */
export const anchorsOf = (text: string): readonly string[] => [...text.matchAll(ANCHOR)].map(([, id = '']) => id);

export function rulesOf(text: string): readonly Rule[] {
  return text
    .split(/^## /m)
    .slice(1)
    .flatMap((section) =>
      section
        .split(/^### /m)
        .slice(1)
        .map(ruleOf(!section.startsWith(NOT_YET_KEPT))),
    );
}

const ruleOf =
  (isKept: boolean) =>
  (text: string): Rule => ({
    title: (text.split('\n')[0] ?? '').replaceAll(ANCHOR, ''),
    anchor: anchorsOf(text)[0] ?? '',
    text,
    heldBy: codesIn(/^Held by: ([\s\S]*?)\n(?:\n|$)/m.exec(text)?.[1]),
    isKept,
  });

/** The cells of each row of the tables, without their headings. */
export const rowsOf = (text: string): readonly (readonly string[])[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );

export const codesIn = (text = ''): readonly string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);

/**
 * The anchors that a text cites by the identifiers of rules and by numbers of sections. Neither percent escapes nor
 * formulas nor words that merely contain such letters are citations.
 */
export function citationsIn(text: string): readonly string[] {
  const identifiers = [...text.matchAll(/(?<![\w%!@#\\/.-]|\w\()[HAOM]\d{1,2}a?(?![\w%-])/g)].map(([id]) =>
    id.toLowerCase(),
  );
  const numbers = [...text.matchAll(/\bsections? (\d[\d.]*\d|\d)(?: (?:and|to) (\d[\d.]*\d|\d))?/gi)];
  const sections = numbers.flatMap(([, first, second]) => [first, second].filter((one) => one !== undefined));
  return [...identifiers, ...sections.map((number) => `section-${number.replaceAll('.', '-')}`)];
}
