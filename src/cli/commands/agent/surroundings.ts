import { systemRandom } from '../../../domain/credentials/random-ids.ts';
import { writeNewFile } from '../../../service/files/new-file.ts';
import { jitter } from '../../../time/jitter.ts';
import type { CodeSource } from '../../agent/enrollment.ts';
import { AgentFault, type AgentFiles, type Surroundings } from '../../agent/surroundings.ts';
import { addressOf, type Address } from '../../connection/address.ts';
import { CommandFault, EXIT } from '../../terminal/exit.ts';
import { valueIn } from '../../terminal/input.ts';
import type { Invocation } from '../../terminal/invocation.ts';

/* The commands of a daemon hand these to it: the service's address, the enrollment code, the disk and the clock. */

const COMMAND_MS = 60_000;
const CODE_BYTES_MAX = 4096;

/** The path of OpAMP, unless MUSTER_OPAMP_PATH says otherwise. */
export const OPAMP_PATH = '/v1/opamp';

/** The device listener; `--device-url` comes before all others. @throws ConfigError; CommandFault */
export const deviceAddress = (call: Invocation, deviceUrl: string | undefined): Address =>
  addressOf('device', {
    env: call.env,
    globals: { ...call.globals, ...(deviceUrl !== undefined && { url: deviceUrl }) },
  });

/** The place at which a person says that the enrollment code is. */
export interface CodeOptions {
  readonly codeFile?: string;
  readonly codeStdin: boolean;
}

/**
 * The source of the enrollment code; undefined where none is given. A code is never an argument: others could
 * read it in the list of processes.
 * @throws CommandFault where it is given twice, and, when it is read, where nothing like a code is there
 */
export function codeSource({ codeFile, codeStdin }: CodeOptions): CodeSource | undefined {
  if (codeFile !== undefined && codeStdin) {
    throw new CommandFault('The code comes by --code-file or by --code-stdin, not by both.', EXIT.usage);
  }
  const path = codeFile ?? (codeStdin ? '-' : undefined);
  if (path === undefined) return undefined;
  const read = async (): Promise<string> => {
    const code = (await valueIn(path, CODE_BYTES_MAX)).trim();
    if (/^[\x21-\x7e]+$/.test(code)) return code;
    const what = path === '-' ? 'stdin' : path;
    throw new CommandFault(`${what}: must have an enrollment code, and nothing else.`, EXIT.usage);
  };
  return { from: codeFile === undefined ? '--code-stdin' : `--code-file ${codeFile}`, read };
}

const FILES: AgentFiles = {
  create: (path, content) => writeNewFile(path, { replace: false }, (put) => put(content)),
  replace: (path, content) => writeNewFile(path, { replace: true }, (put) => put(content)),
  renew: (path, content) => writeNewFile(path, { replace: true, keepGroup: true }, (put) => put(content)),
};

/** This process has these for a daemon. */
export function surroundingsOf({ env, say, clock }: Invocation): Surroundings {
  const random = systemRandom();
  return {
    say,
    clock,
    jitter,
    randomBytes: (count) => random.bytes(count),
    files: FILES,
    env,
    commandMs: COMMAND_MS,
  };
}

const EXIT_OF = { usage: EXIT.usage, refused: EXIT.notAuthorised, failed: EXIT.failed } as const;

/** The fault of a daemon as that of its command, with the exit code; any other error as it is. */
export const commandFault = (error: unknown): unknown =>
  error instanceof AgentFault ? new CommandFault(error.message, EXIT_OF[error.kind]) : error;
