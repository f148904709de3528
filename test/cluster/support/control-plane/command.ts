import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

interface CommandOptions {
  readonly input?: string | undefined;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** A command that ended with another code than 0; the message has its output. */
export class CommandError extends Error {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;

  constructor(command: string, code: number | null, stdout: string, stderr: string) {
    super(`${command} ended with ${code}:\n${stdout}${stderr}`);
    this.code = code;
    this.stdout = stdout;
    this.stderr = stderr;
  }
}

/**
 * Runs a program to its end.
 * @returns what it wrote to its standard output
 * @throws CommandError
 */
export async function command(file: string, args: readonly string[], options: CommandOptions = {}): Promise<string> {
  const { input, env, cwd } = options;
  const child = spawn(file, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
    timeout: COMMAND_MS,
    ...(cwd !== undefined && { cwd }),
  });
  // A command that does not read its input to the end reports that by its exit code.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input ?? '');
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  if (code !== 0) throw new CommandError([file, ...args].join(' '), code, stdout, stderr);
  return stdout;
}

const COMMAND_MS = 600_000;
