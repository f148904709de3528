import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import {
  addGlobals,
  GLOBAL_NAMES,
  globalsBehindNames,
  globalsOf,
  NO_GLOBALS,
  type GlobalOptions,
  type Globals,
} from '../../../src/cli/terminal/globals.ts';

/** `muster apps list [name]` takes all global options, `muster serve` none. */
function program(took: (globals: Globals, name?: string) => void = () => undefined): Command {
  const muster = new Command('muster').exitOverride().configureOutput({ writeErr: () => undefined });
  const apps = muster.command('apps').alias('app');
  addGlobals(apps.command('list').argument('[name]').option('--status <status>'), GLOBAL_NAMES).action(
    (name: string | undefined, options: GlobalOptions) => took(globalsOf(options), name),
  );
  muster.command('serve').action(() => undefined);
  return muster;
}

async function parsed(line: string): Promise<{ globals?: Globals; name?: string }> {
  let found = {};
  const muster = program((globals, name) => (found = { globals, ...(name !== undefined && { name }) }));
  await muster.parseAsync(globalsBehindNames(muster, line.split(' ')), { from: 'user' });
  return found;
}

describe('they may stand before, between and behind the names of a command', () => {
  test.each([
    'apps list --url http://h:1 -o json --limit 5 --quiet',
    '--url http://h:1 -o json --limit 5 --quiet apps list',
    '--url=http://h:1 -ojson apps --limit=5 list --quiet',
    '--quiet apps --output json list --url http://h:1 --limit 5',
    '--quiet app --output=json list --url http://h:1 --limit 5',
  ])('muster %s', async (line) => {
    const globals = { url: 'http://h:1', output: 'json', limit: 5, quiet: true, yes: false };
    expect(await parsed(line)).toEqual({ globals });
  });

  test.each([
    ['apps list list', 'list', 'an argument that is the name of a command'],
    ['--context list apps list x', 'x', 'a value that is the name of a command'],
  ])('muster %s: the argument is %s (%s)', async (line, name) => {
    expect((await parsed(line)).name).toBe(name);
  });

  test.each([
    ['--help', ['--help'], 'no name'],
    ['--url http://h:1 nonsense apps', ['--url', 'http://h:1', 'nonsense', 'apps'], 'an unknown command'],
    ['--url', ['--url'], 'a value that is missing'],
    ['apps --status x list', ['apps', '--status', 'x', 'list'], "another command's option stays where it is"],
    ['apps list -- --quiet', ['apps', 'list', '--', '--quiet'], 'what stands behind -- is no option'],
  ])('the words of %s are handed on as %j (%s)', (line, words) => {
    expect(globalsBehindNames(program(), line.split(' '))).toEqual(words);
  });
});

describe('values', () => {
  test('all that can be given, and the defaults', async () => {
    const line = 'apps list --context prod --yes --request-id a-1._Z --timeout 5s';
    expect((await parsed(line)).globals).toEqual({
      ...NO_GLOBALS,
      context: 'prod',
      yes: true,
      requestId: 'a-1._Z',
      timeoutMs: 5000,
    });
    expect((await parsed('apps list')).globals).toEqual(NO_GLOBALS);
  });

  test.each([
    ['--limit 1', true, 'the least'],
    ['--limit 0', false, 'one below'],
    ['--limit 1000000', true, 'the most'],
    ['--limit 1000001', false, 'one above'],
    ['--limit 1e3', false, 'no digits'],
    ['--timeout 1h', true, 'an hour'],
    ['--timeout 3601s', false, 'more'],
    ['--timeout -1s', false, 'a negative one'],
    ['--timeout 5', false, 'no unit'],
    [`--request-id ${'x'.repeat(128)}`, true, 'the longest'],
    [`--request-id ${'x'.repeat(129)}`, false, 'one letter more'],
    ['--request-id a/b', false, 'a character that H17 does not admit'],
    ['-o id', true, 'a form'],
    ['-o yaml', false, 'an unknown form'],
  ])('%.40s → %s (%s)', async (options, accepted) => {
    const outcome = parsed(`apps list ${options}`).then(
      () => true,
      () => false,
    );
    expect(await outcome).toBe(accepted);
  });

  test.each(['--url http://h:1 serve', 'serve --url http://h:1', '-o json serve'])(
    'muster %s: an option that the command does not take is refused on either side',
    async (line) => {
      await expect(parsed(line)).rejects.toThrow(/unknown option/);
    },
  );
});
