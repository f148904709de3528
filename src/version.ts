import { readFileSync } from 'node:fs';

interface Package {
  readonly version: string;
}

/** Of this program, as package.json has it. */
export const VERSION = (JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as Package)
  .version;
