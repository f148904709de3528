import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const END = '<!-- The end of what is written. -->';

/** A part of a document that the code writes, between its first line and `END`. */
interface Section {
  /** The place of its content in the code, such as `src/domain/records`. */
  readonly source: string;
  readonly content: string;
}

/**
 * The text of a document of `docs` with its sections as they are to be.
 * @throws Error where a section has no place in it
 */
export function withSections(name: string, sections: readonly Section[]): string {
  const text = readFileSync(resolve(import.meta.dirname, '../docs', name), 'utf8');
  return sections.reduce((so, { source, content }) => {
    const first = `<!-- Written by \`npm run docs\` from ${source}. -->`;
    const begin = so.indexOf(first);
    const end = so.indexOf(END, begin);
    if (begin === -1 || end === -1) throw new Error(`docs/${name} has no place for its section: ${first} … ${END}`);
    return `${so.slice(0, begin + first.length)}\n\n${content}\n\n${so.slice(end)}`;
  }, text);
}
