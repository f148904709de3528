import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import type { Surroundings } from './surroundings.ts';

/*
 * The command that runs after a change, such as the reload of a collector. It is started without a shell, so that no
 * word is taken for more than a word, with an environment in which no secret can be, and for a bounded time.
 */

/** The variables by which programs find themselves; whatever else the daemon was given may be a secret. */
const PASSED_ON =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_[A-Z]+|TZ|TMPDIR|XDG_RUNTIME_DIR|DBUS_SESSION_BUS_ADDRESS)$/;
const KILLED_AFTER_MS = 5000;

interface ChangeCommand {
  /** The program and its arguments. */
  readonly words: readonly string[];
  readonly configFile: string;
  readonly revision: number;
}

/**
 * Runs the command to its end.
 * @returns undefined when it ended with 0, else what went wrong, without a word that it wrote
 */
export async function runCommand(
  command: ChangeCommand,
  { env, clock, commandMs }: Pick<Surroundings, 'env' | 'clock' | 'commandMs'>,
  signal: AbortSignal,
): Promise<string | undefined> {
  let child: ChildProcess;
  try {
    child = started(command, env);
  } catch (error) {
    // Most slips are an event of the process; some, such as words that are too long for the system, are thrown.
    return notRun(error);
  }
  const ended = endOf(child);
  const over = new AbortController();
  const late = clock.sleep(commandMs, AbortSignal.any([over.signal, signal])).then(() => 'late' as const);
  const first = await Promise.race([ended, late]);
  over.abort();
  if (first !== 'late') return first.why;
  await end(child, ended, clock);
  return signal.aborted ? 'the daemon was stopped' : `the command was stopped after ${Math.round(commandMs / 1000)} s`;
}

const notRun = (error: unknown): string =>
  `the command cannot be run (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`;

function started({ words, configFile, revision }: ChangeCommand, env: Surroundings['env']): ChildProcess {
  const [program = '', ...args] = words;
  return spawn(program, args, {
    // Its words are for the person who reads the daemon's; stdout of a command has data alone.
    stdio: ['ignore', 2, 2],
    env: {
      ...Object.fromEntries(Object.entries(env).filter(([name]) => PASSED_ON.test(name))),
      MUSTER_AGENT_CONFIG: configFile,
      MUSTER_AGENT_REVISION: String(revision),
    },
    // A group of its own, so that all that it has started ends with it.
    detached: true,
  });
}

interface End {
  readonly why: string | undefined;
}

async function endOf(child: ChildProcess): Promise<End> {
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
    if (code === 0) return { why: undefined };
    return { why: code === null ? `the command was ended by ${String(signal)}` : `the command ended with ${code}` };
  } catch (error) {
    return { why: notRun(error) };
  }
}

async function end(child: ChildProcess, ended: Promise<End>, clock: Surroundings['clock']): Promise<void> {
  signalGroup(child, 'SIGTERM');
  const over = new AbortController();
  await Promise.race([ended, clock.sleep(KILLED_AFTER_MS, over.signal)]);
  over.abort();
  // The rest of the group ends, whether or not the command itself has ended.
  signalGroup(child, 'SIGKILL');
  await ended;
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
