import process from 'node:process';
import { parseArgs } from 'node:util';
import { ToolError, TOOLS, type ToolName } from './container-tool.ts';

/* The arguments and the endings that `npm run image` and `npm run publish-release` have in common. */

interface ToolArguments {
  readonly wanted: ToolName | undefined;
  readonly plainHttp: boolean;
  readonly positionals: readonly string[];
  /** Those of `npm run publish-release` alone. */
  readonly release: Readonly<Partial<Record<'base' | 'key', string>>> & { readonly transparencyLog: boolean };
  /** Those behind `--`, which are the tool's own. */
  readonly further: readonly string[];
}

/** Arguments that the command does not have; the message is a sentence. */
export class UsageError extends Error {}

/** @throws UsageError */
export function readToolArguments(all: readonly string[]): ToolArguments {
  const end = all.indexOf('--');
  const args = all.slice(0, end === -1 ? undefined : end);
  const options = {
    with: { type: 'string' },
    'plain-http': { type: 'boolean', default: false },
    base: { type: 'string' },
    key: { type: 'string' },
    'transparency-log': { type: 'boolean', default: false },
  } as const;
  const { values, positionals } = parsed(() => parseArgs({ args, allowPositionals: true, options }));
  const wanted = TOOLS.find((name) => name === values.with);
  if (values.with !== undefined && wanted === undefined) throw new UsageError(`--with is one of ${TOOLS.join(', ')}.`);
  const further = end === -1 ? [] : all.slice(end + 1);
  const { base, key, 'plain-http': plainHttp, 'transparency-log': transparencyLog } = values;
  const release = { ...(base !== undefined && { base }), ...(key !== undefined && { key }), transparencyLog };
  return { wanted, plainHttp, positionals, release, further };
}

function parsed<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/** Runs a script to its exit code: 1 for what the machine lacks or a registry refuses, 2 for wrong arguments. */
export function exitWith(usage: string, script: () => void): void {
  try {
    script();
  } catch (error) {
    if (!(error instanceof ToolError || error instanceof UsageError)) throw error;
    process.stderr.write(`${error.message}\n${error instanceof UsageError ? `${usage}\n` : ''}`);
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
}
