import { readFileSync } from 'node:fs';

interface Package {
  readonly version: string;
}

/** The version of this program, from package.json. */
export const VERSION = (JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as Package)
  .version;
