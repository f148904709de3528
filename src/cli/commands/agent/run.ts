import { resolve } from 'node:path';
import process from 'node:process';
import { VERSION } from '../../../version.ts';
import { runAgent, type AgentOptions } from '../../agent/agent.ts';
import type { ExporterType, Pipeline } from '../../agent/collector-file.ts';
import { trustAuthority } from '../../connection/address.ts';
import { fetchNamed } from '../../connection/unreachable.ts';
import { CommandFault, EXIT } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { onInterruption } from '../../terminal/signals.ts';
import { codeSource, commandFault, deviceAddress, surroundingsOf, type CodeOptions } from './surroundings.ts';

export interface RunOptions extends CodeOptions {
  readonly credentialFile: string;
  readonly app?: string;
  readonly deviceUrl?: string;
  readonly connection: 'cloud' | 'private';
  readonly otelConfig?: string;
  readonly pipeline?: readonly Pipeline[];
  readonly exporter?: ExporterType;
  readonly platform?: string;
  readonly agentVersion?: string;
  readonly once: boolean;
}

/**
 * `muster agent run`: the reference daemon, until a signal ends it.
 * @param command what runs after a change, with its arguments
 * @throws CommandFault; ConfigError; MusterError
 */
export async function agentRun(call: Invocation, options: RunOptions, command: readonly string[]): Promise<void> {
  if (command.length > 0 && options.otelConfig === undefined) {
    throw new CommandFault('A command on a change has a file to read: give --otel-config.', EXIT.usage);
  }
  if ((options.pipeline ?? options.exporter) !== undefined && options.otelConfig === undefined) {
    throw new CommandFault('Pipelines and their exporter stand in the file: give --otel-config.', EXIT.usage);
  }
  const code = codeSource(options);
  const address = deviceAddress(call, options.deviceUrl);
  trustAuthority(address);
  const agent: AgentOptions = {
    url: address.url,
    fetch: fetchNamed(address, true),
    credentialFile: options.credentialFile,
    appId: options.app,
    code,
    connection: options.connection,
    platform: options.platform ?? `${process.platform}/${process.arch}`,
    agentVersion: options.agentVersion ?? VERSION,
    once: options.once,
    // The command that reads it may have another folder.
    configFile: options.otelConfig === undefined ? undefined : resolve(options.otelConfig),
    collector: { pipelines: options.pipeline, exporter: options.exporter },
    command,
  };
  using interruption = onInterruption(new CommandFault('stopped'));
  try {
    await runAgent(agent, surroundingsOf(call), interruption.signal);
  } catch (error) {
    throw commandFault(error);
  }
}
