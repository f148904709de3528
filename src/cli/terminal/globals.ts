import { InvalidArgumentError, Option, type Command } from 'commander';
import { DURATION_FORMS, durationWithin } from '../../time/duration.ts';

/** The forms in which a command prints its result. */
const OUTPUT_FORMATS = ['table', 'json', 'jsonl', 'csv', 'id'] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** The error by which an argument is refused, with the rule that it breaks: exit code 2. */
export const refusedArgument = (rule: string): InvalidArgumentError => new InvalidArgumentError(rule);

/** The values of the options that many commands take; those that a command does not take have their defaults. */
export interface Globals {
  readonly url?: string;
  readonly context?: string;
  readonly output: OutputFormat;
  /** At most so many items are listed. */
  readonly limit?: number;
  readonly quiet: boolean;
  readonly yes: boolean;
  readonly requestId?: string;
  /** Milliseconds within which the service must respond. */
  readonly timeoutMs?: number;
}

export const NO_GLOBALS: Globals = { output: 'table', quiet: false, yes: false };

/** As commander keeps them; `options` of an action holds them beside the command's own. */
export interface GlobalOptions {
  readonly url?: string;
  readonly context?: string;
  readonly output?: string;
  readonly limit?: number;
  readonly quiet?: boolean;
  readonly yes?: boolean;
  readonly requestId?: string;
  /** Seconds. */
  readonly timeout?: number;
}

export type GlobalName = keyof GlobalOptions;

/** The global options of a command that asks a service. */
export const CONNECTED = ['url', 'context', 'requestId', 'timeout'] as const satisfies readonly GlobalName[];
/** The global options of a command that asks a service, and prints one thing. */
export const ONE = [...CONNECTED, 'output', 'quiet'] as const satisfies readonly GlobalName[];
/** The global options of a command that asks a service, and prints a list. */
export const LIST = [...CONNECTED, 'output', 'limit', 'quiet'] as const satisfies readonly GlobalName[];

const LIMIT_MAX = 1_000_000;

const MAKE: Readonly<Record<GlobalName, () => Option>> = {
  url: () => new Option('--url <url>', 'the address of the service, in place of all others'),
  context: () => new Option('--context <name>', 'the context to use (muster context list)'),
  output: () => new Option('-o, --output <format>', 'the form of stdout').choices(OUTPUT_FORMATS).default('table'),
  limit: () => new Option('--limit <number>', 'list at most so many').argParser(wholeNumber('items', LIMIT_MAX)),
  quiet: () => new Option('--quiet', 'nothing on stderr but errors').default(false),
  yes: () => new Option('--yes', 'do it without being asked').default(false),
  requestId: () => new Option('--request-id <id>', 'the X-Request-Id of every request').argParser(requestIdOf),
  timeout: () =>
    new Option('--timeout <duration>', 'how long the service may take to respond').argParser(durationIn('1s', '1h')),
};
/** Every global option anew, as a command may take it. */
export const globalOptions = (): readonly Option[] => Object.values(MAKE).map((make) => make());
export const GLOBAL_NAMES = Object.keys(MAKE) as readonly GlobalName[];

/**
 * Gives a command those of the global options that have an effect on it; its help shows them in a group of their own.
 */
export function addGlobals(command: Command, names: readonly GlobalName[]): Command {
  for (const name of names) command.addOption(MAKE[name]().helpGroup('Global options:'));
  return command;
}

/** An option that takes one of a few words. */
export const choice = (flags: string, description: string, choices: readonly string[]): Option =>
  new Option(flags, description).choices(choices);

/** The global options that a command without a use for them refuses, each with the reason. */
const REFUSED: Partial<Record<GlobalName, string>> = {
  url: 'asks no service.',
  context: 'asks no service.',
  output: 'has one form of stdout.',
};

/**
 * Gives each command the global options that it has no use for as well, so that a script can give all commands the
 * same; no help and no completion shows them. A bound or a consent without a use changes nothing. An address and a form
 * are refused in words: a restore that takes `--context prod` for nothing works on another store than its line says.
 */
export function takeOtherGlobals(command: Command, path: string): void {
  for (const sub of command.commands) takeOtherGlobals(sub, `${path} ${sub.name()}`);
  if (command.commands.length > 0) return;
  const taken = new Set(command.options.map(({ long }) => long));
  for (const name of GLOBAL_NAMES) {
    const option = MAKE[name]();
    if (taken.has(option.long)) continue;
    const isOfDevices = name === 'url' && taken.has('--device-url');
    const reason = isOfDevices ? 'asks the device listener: --device-url names it.' : REFUSED[name];
    const { parseArg } = option;
    if (reason !== undefined) {
      option.default(undefined).argParser(() => {
        throw new InvalidArgumentError(`${path} ${reason}`);
      });
    } else if (name === 'limit') {
      // It is judged, and has no effect on what is no list.
      option.argParser((text) => {
        parseArg?.(text, undefined);
      });
    }
    command.addOption(option.hideHelp());
  }
}

/** The typed value of the global options among those of a command. */
export function globalsOf(options: GlobalOptions): Globals {
  const { url, context, output = 'table', limit, quiet = false, yes = false, requestId, timeout } = options;
  return {
    output: output as OutputFormat,
    quiet,
    yes,
    ...(url !== undefined && { url }),
    ...(context !== undefined && { context }),
    ...(limit !== undefined && { limit }),
    ...(requestId !== undefined && { requestId }),
    ...(timeout !== undefined && { timeoutMs: timeout * 1000 }),
  };
}

/** Reads an option's whole number from 1 to a bound. */
export const wholeNumber =
  (what: string, max: number) =>
  (text: string): number => {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : 0;
    if (number >= 1 && number <= max) return number;
    throw new InvalidArgumentError(`It is a whole number of ${what} from 1 to ${max}.`);
  };

/** A year, the leap day included. */
export const DURATION_MAX = '366d';

/**
 * Reads an option's duration with its unit. @param min such as `1s` @param max such as `366d` @returns whole seconds
 */
export const durationIn =
  (min = '1s', max = DURATION_MAX) =>
  (text: string): number => {
    const ms = durationWithin(text, min, max);
    if (ms !== undefined) return ms / 1000;
    const unitless = /^\d+$/.test(text) ? ` ${text} has no unit.` : '';
    throw new InvalidArgumentError(
      `It is a duration with its unit, such as ${DURATION_FORMS}, from ${min} to ${max}.${unitless}`,
    );
  };

/** Reads an option's text that has a form. @param rule as a whole sentence */
export const matching =
  (pattern: RegExp, rule: string) =>
  (text: string): string => {
    if (pattern.test(text)) return text;
    throw new InvalidArgumentError(rule);
  };

/**
 * Reads an option's text by a function that knows what is wrong by returning undefined. @param rule as a whole sentence
 */
export const reading =
  <Value>(parse: (text: string) => Value | undefined, rule: string) =>
  (text: string): Value => {
    const value = parse(text);
    if (value !== undefined) return value;
    throw new InvalidArgumentError(rule);
  };

/** H17 has the form; the service would answer another one with an id of its own. */
function requestIdOf(text: string): string {
  if (/^[A-Za-z0-9._-]{1,128}$/.test(text)) return text;
  throw new InvalidArgumentError('It is 1 to 128 letters, digits, dots, underscores and hyphens.');
}

/**
 * Puts the global options that stand before or between the names of a command behind them, where commander looks for
 * the options of that command: so they may stand on either side.
 * @param args the words after `muster`
 */
export function globalsBehindNames(program: Command, args: readonly string[]): string[] {
  const [names, moved]: [string[], string[]] = [[], []];
  let at = 0;
  for (let command = program; command.commands.length > 0 && at < args.length;) {
    const word = args[at] ?? '';
    const length = wordsOfGlobal(word);
    const next = command.commands.find((sub) => sub.name() === word || sub.aliases().includes(word));
    if (length > 0) moved.push(...args.slice(at, (at += length)));
    else if (next) {
      names.push(word);
      command = next;
      at += 1;
    } else break;
  }
  return [...names, ...moved, ...args.slice(at)];
}

/** How many words a global option takes that begins with this one; 0 where it begins none. */
function wordsOfGlobal(word: string): number {
  for (const option of GLOBAL_NAMES.map((name) => MAKE[name]())) {
    if (word === option.long || word === option.short) return option.required ? 2 : 1;
    if (option.required && option.long !== undefined && word.startsWith(`${option.long}=`)) return 1;
    if (option.required && option.short !== undefined && /^-[^-]./.test(word) && word.startsWith(option.short))
      return 1;
  }
  return 0;
}
