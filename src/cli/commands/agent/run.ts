import { resolve } from 'node:path';
import process from 'node:process';
import { systemRandom } from '../../../domain/credentials/random-ids.ts';
import { writeNewFile } from '../../../service/files/new-file.ts';
import { jitter } from '../../../time/jitter.ts';
import { VERSION } from '../../../version.ts';
import { runAgent, type AgentOptions } from '../../agent/agent.ts';
import { AgentFault, type AgentFiles, type Surroundings } from '../../agent/surroundings.ts';
import { DEFAULT_PIPELINES, type Pipeline } from '../../agent/collector-file.ts';
import { addressOf, trustAuthority } from '../../connection/address.ts';
import { fetchTo } from '../../connection/fetch-to.ts';
import { CommandFault, EXIT } from '../../terminal/exit.ts';
import { valueIn } from '../../terminal/input.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { onInterruption } from '../../terminal/signals.ts';

export interface RunOptions {
  readonly credentialFile: string;
  readonly app?: string;
  readonly codeFile?: string;
  readonly codeStdin: boolean;
  readonly deviceUrl?: string;
  readonly connection: 'cloud' | 'private';
  readonly otelConfig?: string;
  readonly pipeline?: readonly Pipeline[];
  readonly platform?: string;
  readonly agentVersion?: string;
  readonly once: boolean;
}

const COMMAND_MS = 60_000;
const CODE_BYTES_MAX = 4096;

/**
 * `muster agent run`: the reference daemon, until a signal ends it.
 * @param command what runs after a change, with its arguments
 * @throws CommandFault; ConfigError; MusterError
 */
export async function agentRun(call: Invocation, options: RunOptions, command: readonly string[]): Promise<void> {
  if (command.length > 0 && options.otelConfig === undefined) {
    throw new CommandFault('A command on a change has a file to read: give --otel-config.', EXIT.usage);
  }
  if (options.codeFile !== undefined && options.codeStdin) {
    throw new CommandFault('The code comes by --code-file or by --code-stdin, not by both.', EXIT.usage);
  }
  if (options.pipeline && options.otelConfig === undefined) {
    throw new CommandFault('A pipeline stands in the file: give --otel-config.', EXIT.usage);
  }
  const address = deviceAddress(call, options.deviceUrl);
  trustAuthority(address);
  const code = codeSource(options);
  const agent: AgentOptions = {
    url: address.url,
    fetch: fetchTo(address),
    credentialFile: options.credentialFile,
    appId: options.app,
    code,
    connection: options.connection,
    platform: options.platform ?? `${process.platform}/${process.arch}`,
    agentVersion: options.agentVersion ?? VERSION,
    once: options.once,
    // The command that reads it may have another folder.
    configFile: options.otelConfig === undefined ? undefined : resolve(options.otelConfig),
    pipelines: options.pipeline ?? DEFAULT_PIPELINES,
    command,
  };
  using interruption = onInterruption(new CommandFault('stopped'));
  try {
    await runAgent(agent, surroundingsOf(call), interruption.signal);
  } catch (error) {
    if (!(error instanceof AgentFault)) throw error;
    throw new CommandFault(error.message, EXIT_OF[error.kind]);
  }
}

const EXIT_OF = { usage: EXIT.usage, refused: EXIT.notAuthorised, failed: EXIT.failed } as const;

/** The device listener; `--device-url` comes before all others. @throws ConfigError; CommandFault */
export const deviceAddress = (call: Invocation, deviceUrl: string | undefined) =>
  addressOf('device', {
    env: call.env,
    globals: { ...call.globals, ...(deviceUrl !== undefined && { url: deviceUrl }) },
  });

const FILES: AgentFiles = {
  create: (path, content) => writeNewFile(path, { replace: false }, (put) => put(content)),
  replace: (path, content) => writeNewFile(path, { replace: true }, (put) => put(content)),
  renew: (path, content) => writeNewFile(path, { replace: true, keepGroup: true }, (put) => put(content)),
};

function surroundingsOf({ env, say, clock }: Invocation): Surroundings {
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

/** A code is never an argument: others could read it in the list of processes. */
function codeSource({ codeFile, codeStdin }: RunOptions): (() => Promise<string>) | undefined {
  const path = codeFile ?? (codeStdin ? '-' : undefined);
  if (path === undefined) return undefined;
  return async () => {
    const code = (await valueIn(path, CODE_BYTES_MAX)).trim();
    if (/^[\x21-\x7e]+$/.test(code)) return code;
    const what = path === '-' ? 'stdin' : path;
    throw new CommandFault(`${what}: must have an enrollment code, and nothing else.`, EXIT.usage);
  };
}
