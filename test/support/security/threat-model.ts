import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../repository/source-tree.ts';

/* SECURITY.md as a threat model: its sections, the rows of its tables, and where its links lead. */

export const threatModel = readFileSync(join(ROOT, 'SECURITY.md'), 'utf8');

/** A link with its text and the file that it leads to; `#…` of it is the anchor. */
export interface Link {
  readonly label: string;
  readonly file: string;
  readonly anchor: string | undefined;
}

/** A row of a table whose header is `Rule` and `Test` at its end. */
export interface Row {
  readonly section: string;
  /** The first cell: a letter of STRIDE, or a promise. */
  readonly first: string;
  readonly rules: readonly Link[];
  readonly tests: readonly Link[];
}

interface Section {
  readonly title: string;
  readonly text: string;
}

/** The parts under the headings of a depth, up to the next heading of the same or a smaller one. */
export function sectionsOf(text: string, depth: 2 | 3): readonly Section[] {
  const marks = '#'.repeat(depth);
  return text
    .split(new RegExp(`^(?=#{1,${depth}} )`, 'm'))
    .filter((part) => part.startsWith(`${marks} `))
    .map((part) => ({ title: part.slice(marks.length + 1, part.indexOf('\n')), text: part }));
}

/** The section of a title. @throws Error where there is none */
export function sectionOf(text: string, title: string): string {
  const found = sectionsOf(text, 2).find((section) => section.title === title);
  if (!found) throw new Error(`SECURITY.md has no section ${title}`);
  return found.text;
}

/** The cells of each table of a text: the header first, without the line under it. */
export function tablesOf(text: string): readonly (readonly (readonly string[])[])[] {
  const blocks = text.split(/\n\n+/).filter((block) => block.startsWith('|'));
  return blocks.map((block) =>
    block
      .trim()
      .split('\n')
      .filter((line) => !/^[|\s-]+$/.test(line))
      .map((line) =>
        line
          .split('|')
          .slice(1, -1)
          .map((cell) => cell.trim()),
      ),
  );
}

/** The links by a label that is defined once, at the end of the text. */
export function definitionsOf(text: string): ReadonlyMap<string, string> {
  return new Map([...text.matchAll(/^\[([^\]]+)\]: (\S+)$/gm)].map(([, label = '', target = '']) => [label, target]));
}

const linkTo = (label: string, target: string): Link => {
  const [file = '', anchor] = target.split('#');
  return { label, file, anchor };
};

/** The links of a cell: those with an address, and those by a label. A label without a definition leads nowhere. */
function linksIn(cell: string, definitions: ReadonlyMap<string, string>): readonly Link[] {
  const found = [...cell.matchAll(/\[((?:[^[\]]|\[[^\]]*\])+)\](?:\(([^)\s]+)\))?/g)];
  return found.map(([, label = '', target]) => linkTo(label, target ?? definitions.get(label) ?? ''));
}

/** Each row that names a rule and a test. */
export function rowsOf(text: string): readonly Row[] {
  const definitions = definitionsOf(text);
  return [...sectionsOf(text, 3), ...sectionsOf(text, 2).filter((section) => !section.text.includes('\n### '))].flatMap(
    ({ title, text: part }) =>
      tablesOf(part)
        .filter(([header = []]) => header.at(-2) === 'Rule' && header.at(-1) === 'Test')
        .flatMap(([, ...rows]) =>
          rows.map((cells) => ({
            section: title,
            first: cells[0] ?? '',
            rules: linksIn(cells.at(-2) ?? '', definitions),
            tests: linksIn(cells.at(-1) ?? '', definitions),
          })),
        ),
  );
}

/** A title as it stands in the source of a test: the first argument of a call, before a comma. */
export function hasTitle(source: string, title: string): boolean {
  const literal = title.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  return new RegExp(String.raw`\(\s*(['"\`])${literal}\1,`).test(source);
}
