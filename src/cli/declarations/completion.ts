import type { Command } from 'commander';
import type { Shell } from '../commands/completion/script.ts';
import type { Environment } from '../terminal/terminal.ts';

/** `muster completion …`, and the hidden `muster complete -- WORDS…` that its scripts call at each TAB. */
export function addCompletion(program: Command, env: Environment): void {
  program
    .command('completion')
    .description('print the script by which a shell completes the words of this command')
    .addArgument(program.createArgument('<shell>').choices(['bash', 'zsh', 'fish'] satisfies Shell[]))
    .addHelpText(
      'after',
      '\nFor this shell: source <(muster completion bash), or muster completion fish | source. Ids of accounts and apps ' +
        'are\nthose of the service that the line names; it is given a second.',
    )
    .action(async (shell: Shell) => {
      const { printScript } = await import('../commands/completion/script.ts');
      printScript(shell);
    });
  program
    .command('complete', { hidden: true })
    .argument('[words...]')
    .action(async (words: string[]) => {
      const { complete } = await import('../commands/completion/complete.ts');
      await complete(program, words, env);
    });
}
