import process from 'node:process';
import { RootCommand, type Command as Completed, type Complete } from '@bomb.sh/tab';
import type { Argument, Command, Option } from 'commander';
import { globalOptions } from '../../terminal/globals.ts';
import type { Environment } from '../../terminal/terminal.ts';
import { candidates, DEADLINE_MS, type Candidate, type Given, type Kind } from './candidates.ts';

/** The kind of the word that is to be completed: a file, of which the shell knows, or one of these. */
type Wanted = Kind | 'file';

/** Leaves the library, whose handlers cannot wait, before it prints. */
class Asked extends Error {
  readonly wanted: Wanted;
  constructor(wanted: Wanted) {
    super(wanted);
    this.wanted = wanted;
  }
}

/**
 * Prints what the last word can become, one a line with a tab and its description, and in the end a directive: `:4`,
 * or `:0` where the shell completes names of files. Nothing else is ever printed.
 * @param words those after `muster`, up to the cursor; the last one may be empty
 * @param deadlineMs what the service has to tell its ids
 */
export async function complete(
  program: Command,
  words: readonly string[],
  env: Environment,
  { deadlineMs = DEADLINE_MS }: { readonly deadlineMs?: number } = {},
): Promise<void> {
  const current = words.at(-1) ?? '';
  const line = [...words.slice(0, -1).flatMap(splitAtSign), current];
  try {
    tree(program).parse([...line]);
  } catch (error) {
    if (!(error instanceof Asked)) throw error;
    if (error.wanted === 'file') process.stdout.write(':0\n');
    else {
      const prefix = current.startsWith('-') ? current.slice(current.indexOf('=') + 1) : current;
      const known = await candidates(error.wanted, prefix, env, { ...givenOn(line), deadlineMs });
      tree(program, known).parse([...line]);
    }
  }
}

/** `--option=value` as two words, as the library reads them. */
function splitAtSign(word: string): readonly string[] {
  const [, option, value] = /^(--[\w-]+)=(.*)$/s.exec(word) ?? [];
  return option === undefined || value === undefined ? [word] : [option, value];
}

function givenOn(line: readonly string[]): Given {
  const after = (option: string): string | undefined => {
    const at = line.slice(0, -1).lastIndexOf(option);
    return at === -1 || at + 1 === line.length - 1 ? undefined : line[at + 1];
  };
  const [url, context] = [after('--url'), after('--context')];
  return { ...(url !== undefined && { url }), ...(context !== undefined && { context }) };
}

/** The program as the library wants it. @param known what can stand where a handler broke off before */
function tree(program: Command, known?: readonly Candidate[]): RootCommand {
  const root = new RootCommand();
  describe(root, program, '', known);
  return root;
}

function describe(root: RootCommand, command: Command, path: string, known?: readonly Candidate[]): void {
  const completed: Completed = path === '' ? root : root.command(path, command.description());
  const help = command.createHelp();
  for (const option of [...help.visibleOptions(command), ...globalsOfSome(command)])
    addOption(completed, option, known);
  for (const argument of command.registeredArguments) {
    const values = valuesOf(argument.argChoices, kindOfArgument(path, argument), known);
    completed.argument(argument.name(), values, argument.variadic);
  }
  for (const sub of help.visibleCommands(command)) describe(root, sub, `${path} ${sub.name()}`.trimStart(), known);
}

/** The global options that one of a noun's commands takes: they may stand before its name. */
function globalsOfSome(noun: Command): readonly Option[] {
  const taken = new Set(noun.commands.flatMap((command) => longsOf(command)));
  return globalOptions().filter(({ long }) => taken.has(long));
}

const longsOf = (command: Command): readonly (string | undefined)[] => [
  ...command.options.filter(({ hidden }) => !hidden).map(({ long }) => long),
  ...command.commands.flatMap((sub) => longsOf(sub)),
];

function addOption(completed: Completed, option: Option, known?: readonly Candidate[]): void {
  const [name, alias] = [option.long?.slice(2) ?? '', option.short?.slice(1)];
  if (name === '') return;
  if (!option.required && !option.optional) completed.option(name, option.description, alias);
  else completed.option(name, option.description, valuesOf(option.argChoices, kindOfOption(option), known), alias);
}

function valuesOf(choices: readonly string[] | undefined, wanted: Wanted | undefined, known?: readonly Candidate[]) {
  return (add: Complete): void => {
    if (choices) for (const choice of choices) add(choice, '');
    else if (wanted && !known) throw new Asked(wanted);
    else if (wanted) for (const { value, description } of known ?? []) add(value, description);
  };
}

const FILE = /^(?:file|path|folder|dir|directory)$/;

/** An argument says by its name what it is; `<id>` is that of its noun. */
function kindOfArgument(path: string, argument: Argument): Wanted | undefined {
  const [noun, name] = [path.split(' ')[0], argument.name()];
  if (name === 'account' || (noun === 'accounts' && name === 'id')) return 'account';
  if (name === 'app' || (noun === 'apps' && name === 'id')) return 'app';
  if (noun === 'context' && name === 'name' && !path.endsWith(' add')) return 'context';
  return FILE.test(name) && noun !== 'api' ? 'file' : undefined;
}

function kindOfOption({ long = '', flags }: Option): Wanted | undefined {
  if (long === '--account') return 'account';
  if (long === '--app') return 'app';
  if (long === '--context') return 'context';
  const [, value = ''] = /[<[]([\w-]+)/.exec(flags) ?? [];
  return FILE.test(value) ? 'file' : undefined;
}
