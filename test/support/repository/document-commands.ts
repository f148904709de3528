import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './source-tree.ts';

/** The commands of a section of a document, in their order: those of its blocks of `sh`. */
export function commandsOf(document: string, section: string): string {
  const text = readFileSync(join(ROOT, document), 'utf8');
  const part = text.split(/^##+ /m).find((candidate) => candidate.startsWith(`${section}\n`)) ?? '';
  const blocks = [...part.matchAll(/^( *)```sh\n([\s\S]*?)^ *```$/gm)];
  if (blocks.length === 0) throw new Error(`${document} has no commands under ${section}`);
  return blocks.map(([, indent = '', lines = '']) => lines.replaceAll(new RegExp(`^${indent}`, 'gm'), '')).join('');
}
