import type { AcknowledgeConfigRequest, DeviceConfig } from '#client';
import { runCommand } from './change-command.ts';
import { BadConfiguration, collectorFile, type Collector } from './collector-file.ts';
import type { Surroundings } from './surroundings.ts';

/** The daemon does these with a configuration. */
export interface Target {
  /** The path of the collector's file; undefined where none is written. */
  readonly configFile: string | undefined;
  readonly collector: Collector;
  /** The program and the arguments to run after a change; empty for none. */
  readonly command: readonly string[];
}

/** A file that is mounted by itself, as a container's volume may be, cannot be replaced by another one. */
const MOUNTED = 'EBUSY: it is mounted by itself; mount its folder in its place';

/** Carries configurations out, one after the other. */
export class Application {
  readonly #target: Target;
  readonly #surroundings: Surroundings;
  /** The text with which the command last succeeded in this process. */
  #applied: string | undefined;

  constructor(target: Target, surroundings: Surroundings) {
    this.#target = target;
    this.#surroundings = surroundings;
  }

  /**
   * Writes the file, and runs the command where the text is another one than it last succeeded with: so it also runs
   * once after each start, since an earlier start may have been killed between the two.
   */
  async apply({ revision, otel }: DeviceConfig, signal: AbortSignal): Promise<AcknowledgeConfigRequest> {
    const error = await this.#trouble(revision, otel, signal);
    return error === undefined ? { revision, status: 'applied' } : { revision, status: 'failed', error };
  }

  async #trouble(revision: number, otel: DeviceConfig['otel'], signal: AbortSignal): Promise<string | undefined> {
    const { configFile, collector } = this.#target;
    if (configFile === undefined) return undefined;
    const text = textOf(otel, collector);
    if (text instanceof BadConfiguration) return text.message;
    if (text === this.#applied) return undefined;
    // From here on the command has not succeeded with what is there.
    this.#applied = undefined;
    const why = (await this.#write(configFile, text)) ?? (await this.#run(configFile, revision, signal));
    if (why === undefined) this.#applied = text;
    return why;
  }

  async #write(configFile: string, text: string): Promise<string | undefined> {
    try {
      await this.#surroundings.files.renew(configFile, text);
      return undefined;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === undefined) throw error;
      return `the file cannot be written (${code === 'EBUSY' ? MOUNTED : code})`;
    }
  }

  async #run(configFile: string, revision: number, signal: AbortSignal): Promise<string | undefined> {
    const { command } = this.#target;
    if (command.length === 0) return undefined;
    return await runCommand({ words: command, configFile, revision }, this.#surroundings, signal);
  }
}

function textOf(otel: DeviceConfig['otel'], collector: Collector): string | BadConfiguration {
  try {
    return collectorFile(otel, collector);
  } catch (error) {
    if (error instanceof BadConfiguration) return error;
    throw error;
  }
}
