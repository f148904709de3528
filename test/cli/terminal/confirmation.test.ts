import { describe, expect, test } from 'vitest';
import { printableName } from '../../../src/cli/output/printable-name.ts';
import { confirmed } from '../../../src/cli/terminal/confirmation.ts';
import { recordedTerminal } from '../../support/cli/recorded-terminal.ts';

const outcome = (asked: Promise<void>): Promise<number> =>
  asked.then(
    () => 0,
    (error: unknown) => (error as { exitCode: number }).exitCode,
  );

describe('at a terminal', () => {
  test.each([
    [1, 'y', 0, 'yes'],
    [19, ' YES ', 0, 'in full, in capitals'],
    [1, '', 1, 'nothing, as after Ctrl-C or at the end of the input'],
    [1, 'n', 1, 'no'],
    [1, 'yeah', 1, 'another word'],
    [20, '20', 0, 'many: the number is typed'],
    [20, 'y', 1, 'many: a letter is not enough'],
    [20, '2', 1, 'many: another number'],
  ])('%i things, and the answer %j → %i (%s)', async (count, answer, code) => {
    const terminal = recordedTerminal({ answers: [answer] });
    expect(await outcome(confirmed({ what: `Delete ${count} apps`, count, yes: false }, terminal))).toBe(code);
    const how = count < 20 ? '[y/N] ' : `Type ${count} to go on: `;
    expect(terminal.questions).toEqual([`Delete ${count} apps? ${how}`]);
  });

  test.each([
    [3, true, 'with --yes'],
    [0, false, 'where nothing would happen'],
  ])('%i things, --yes %s: nobody is asked (%s)', async (count, yes) => {
    const terminal = recordedTerminal({ answers: [] });
    expect(await outcome(confirmed({ what: 'Delete apps', count, yes }, terminal))).toBe(0);
    expect(terminal.questions).toEqual([]);
  });

  test('a name that others have chosen moves no terminal', async () => {
    const terminal = recordedTerminal({ answers: ['y', 'y'] });
    await confirmed({ what: 'Delete \u001b[2J', count: 1, yes: false }, terminal);
    const name = printableName('שרה\u202e');
    await confirmed({ what: `Disable ${name}`, count: 1, yes: false }, { ask: terminal.ask });
    expect(terminal.questions).toEqual(['Delete \\x1b[2J? [y/N] ', 'Disable \u2068שרה\\u202e\u2069? [y/N] ']);
  });
});

test('without a terminal it is refused with exit code 2 and the words --yes, and with --yes it is done', async () => {
  const refused = confirmed({ what: 'Delete 3 apps', count: 3, yes: false }, recordedTerminal());
  await expect(refused).rejects.toMatchObject({ exitCode: 2, message: expect.stringContaining('--yes') as string });
  expect(await outcome(confirmed({ what: 'Delete 3 apps', count: 3, yes: true }, recordedTerminal()))).toBe(0);
});
