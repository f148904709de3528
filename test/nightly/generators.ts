import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';

const SCRIPT = join(import.meta.dirname, '../../.ci/build-generators.sh');

export interface Generator {
  /** The folder with its programs, for the PATH; undefined where it is not to be had, which is a failure in CI. */
  readonly bin?: string;
  /** What follows the title of a test that is skipped for it. */
  readonly note: string;
}

/** The generator of clients in this language, which .ci/build-generators.sh installs where it is missing. */
export function findGenerator(language: 'python' | 'go'): Generator {
  try {
    const said = execFileSync(SCRIPT, [language], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
    return { bin: said.trim(), note: '' };
  } catch (error) {
    if (process.env['CI']) throw new Error(`CI needs .ci/build-generators.sh ${language}.`, { cause: error });
    return { note: ` [skipped: .ci/build-generators.sh ${language} cannot install it here]` };
  }
}
