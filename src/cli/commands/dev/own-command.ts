import { existsSync, realpathSync } from 'node:fs';
import { delimiter, isAbsolute, join, relative, resolve } from 'node:path';
import type { Environment } from '../../terminal/terminal.ts';
import { shellWord } from '../../../text/shell-words.ts';

/** The program that a person starts: in a checkout beside `src`, in the image and the package beside `dist`. */
const PROGRAM = ['../../../..', '../../../../..']
  .map((root) => resolve(import.meta.dirname, root, 'bin/muster.mjs'))
  .find((path) => existsSync(path));

/**
 * How this very program is called from this folder in another terminal, as words of a shell: `muster` where the shell
 * finds it by that name, else by its path.
 * @param program only tests give one
 */
export function ownCommand({ PATH = '' }: Environment, program = PROGRAM): string {
  if (program === undefined) return 'muster';
  const own = realpathSync(program);
  const first = PATH.split(delimiter)
    // npm adds folders of its own for what it runs, which no other terminal has.
    .filter((folder) => isAbsolute(folder) && !/[\\/]node_modules[\\/]\.bin$/.test(folder))
    .map((folder) => join(folder, 'muster'))
    .find((path) => existsSync(path));
  if (first !== undefined && realpathSync(first) === own) return 'muster';
  const path = relative('', own);
  return shellWord(path.startsWith('..') || isAbsolute(path) ? own : `./${path}`);
}
