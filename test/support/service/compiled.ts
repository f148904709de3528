import { join } from 'node:path';
import { toolsFolder } from '../run/tools-folder.ts';

/**
 * For the environment of a process that runs this program's TypeScript: it takes over what an earlier process has
 * compiled and is still the same, and so costs a third of the processor time. Node replaces what has changed.
 */
export const COMPILED: Readonly<Record<string, string>> = {
  NODE_COMPILE_CACHE: join(toolsFolder(), 'compiled'),
};
