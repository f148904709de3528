import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../repository/source-tree.ts';

/** The commands in docs/CLI.md that the section of a command shows, each as its words behind `muster`. */
export function samplesOf(command: string): string[][] {
  const text = readFileSync(join(ROOT, 'docs/CLI.md'), 'utf8');
  const section = text.split(/^### /m).find((one) => one.startsWith(`\`muster ${command}`)) ?? '';
  const blocks = [...section.matchAll(/^```sh\n([^`]*)^```$/gm)].map(([, block = '']) => block);
  const lines = blocks.flatMap((block) => block.trimEnd().split('\n'));
  return lines.flatMap((line) =>
    line.startsWith('muster ') ? [line.split(' #')[0]?.trim().split(/ +/).slice(1) ?? []] : [],
  );
}
