import type { Screen, Terminal } from '../../../src/cli/terminal/terminal.ts';

export interface RecordedOptions {
  readonly stdout?: Partial<Omit<Screen, 'write'>>;
  readonly stderr?: Partial<Omit<Screen, 'write'>>;
  /** What the person answers, one after the other; without it nobody is there. */
  readonly answers?: readonly string[];
}

export interface RecordedTerminal extends Terminal {
  /** All that was written. */
  readonly out: () => string;
  readonly err: () => string;
  readonly questions: readonly string[];
}

/** A terminal that is a value: as wide and as colourful as a test says. */
export function recordedTerminal({ stdout, stderr, answers }: RecordedOptions = {}): RecordedTerminal {
  const [out, err, questions]: [string[], string[], string[]] = [[], [], []];
  const left = [...(answers ?? [])];
  const screen = (texts: string[], told: Partial<Omit<Screen, 'write'>> = {}): Screen => ({
    isTTY: false,
    columns: undefined,
    colours: false,
    ...told,
    async write(text) {
      texts.push(text);
    },
  });
  return {
    stdout: screen(out, stdout),
    stderr: screen(err, stderr),
    ask: answers
      ? async (question) => {
          questions.push(question);
          return left.shift() ?? '';
        }
      : undefined,
    out: () => out.join(''),
    err: () => err.join(''),
    questions,
  };
}
