import { once } from 'node:events';
import process from 'node:process';
import { isatty } from 'node:tty';

/** The variables of the environment; passed in. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** One end of the terminal, or of a pipe. */
export interface Screen {
  readonly isTTY: boolean;
  /** Undefined where it is no terminal: nothing is cut then. */
  readonly columns: number | undefined;
  readonly colours: boolean;
  /** Resolves when more may be written. */
  write(text: string): Promise<void>;
}

/** A command prints here, and asks a person here. */
export interface Terminal {
  /** Data, and nothing else. */
  readonly stdout: Screen;
  /** Words and progress. */
  readonly stderr: Screen;
  /** Asks the person at the terminal; undefined where there is nobody. */
  readonly ask: ((question: string) => Promise<string>) | undefined;
}

type Stream = Pick<NodeJS.WriteStream, 'write' | 'once'> & { readonly isTTY?: boolean; readonly columns?: number };

/** The width where a terminal does not tell its own, as some do that a program makes. */
const COLUMNS_UNTOLD = 80;

export function screenOf(stream: Stream, env: Environment): Screen {
  const isTTY = stream.isTTY === true;
  return {
    isTTY,
    get columns() {
      return isTTY ? stream.columns || COLUMNS_UNTOLD : undefined;
    },
    colours: hasColours(isTTY, env),
    async write(text) {
      if (!stream.write(text)) await once(stream as NodeJS.WriteStream, 'drain');
    },
  };
}

/**
 * FORCE_COLOR decides where it is set (0 and false are no), then NO_COLOR (https://no-color.org: any text that is not
 * empty), then what the terminal can.
 */
export function hasColours(isTTY: boolean, env: Environment): boolean {
  const [force = '', no = ''] = [env['FORCE_COLOR'], env['NO_COLOR']];
  if (force !== '') return force !== '0' && force !== 'false';
  return no === '' && isTTY && env['TERM'] !== 'dumb';
}

const STDIN = 0;

/** The terminal of this process. */
export function processTerminal(env: Environment): Terminal {
  // Not process.stdin.isTTY: a look at that opens the stream.
  const isAskable = isatty(STDIN) && process.stderr.isTTY;
  return {
    stdout: screenOf(process.stdout, env),
    stderr: screenOf(process.stderr, env),
    ask: isAskable ? askProcess : undefined,
  };
}

/** The end of the input, or Ctrl-C, is an empty answer. */
async function askProcess(question: string): Promise<string> {
  const { createInterface } = await import('node:readline/promises');
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const closed = once(lines, 'close').then(() => undefined);
    const answer = await Promise.race([lines.question(question).catch(() => undefined), closed]);
    if (answer === undefined) process.stderr.write('\n');
    return answer ?? '';
  } finally {
    lines.close();
  }
}
