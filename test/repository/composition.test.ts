import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sourceTree, withoutComments } from '../support/repository/source-tree.ts';

const ROOTS_OF_COMPOSITION = new Set([
  'service/domain-services.ts',
  'service/admission-services.ts',
  'service/opamp-services.ts',
  'service/panel-services.ts',
  'service/term-services.ts',
  'service/user-services.ts',
]);

/** Files that may construct a service of the domain all the same, each with its reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'cli/commands/backup/trust.ts':
    'runs without a service, and only asks whether the key file opens what the backup holds',
};

const tree = sourceTree().map(({ path, text }) => ({ path, code: withoutComments(text) }));
const CONSTRUCTORS = new Set(
  tree
    .filter(({ path }) => path.startsWith('domain/'))
    .flatMap(({ code }) => [...code.matchAll(/^export (?:async )?(?:function|const) (create[A-Z]\w*)/gm)])
    .map(([, name]) => name ?? ''),
);

/** The constructors of the domain that a file names in an import, a re-export or a call. */
function constructorsIn(code: string): readonly string[] {
  const fromDomain = [...code.matchAll(/^(?:import|export)\s[^;]*?from '[^']*\/domain\/[^']*'/gm)].join('\n');
  return [...new Set(fromDomain.match(/\bcreate[A-Z]\w*/g))].filter((name) => CONSTRUCTORS.has(name));
}

const roomOf = (path: string): string => path.slice(0, path.lastIndexOf('/'));
const users = tree
  .filter(({ path }) => !path.startsWith('domain/'))
  .map(({ path, code }) => ({ path, names: constructorsIn(code) }))
  .filter(({ names }) => names.length > 0);

test('the services of the domain are constructed in the files of the composition root', () => {
  const elsewhere = users.filter(({ path }) => !ROOTS_OF_COMPOSITION.has(path) && !(path in EXCEPTIONS));
  expect(elsewhere.map(({ path, names }) => `${path}: ${names.join(', ')}`)).toEqual([]);
});

test('no room of the domain constructs a service of another one', () => {
  const across = tree
    .filter(({ path }) => path.startsWith('domain/'))
    .flatMap(({ path, code }) => {
      const imports = code.matchAll(/^(?:import|export)\s([^;]*?)from '([^']*)'/gm);
      return [...imports].flatMap(([, names = '', from = '']) => {
        const room = roomOf(join('/', roomOf(path), from)).slice(1);
        const constructors = (names.match(/\bcreate[A-Z]\w*/g) ?? []).filter((name) => CONSTRUCTORS.has(name));
        return room === roomOf(path) ? [] : constructors.map((name) => `${path}: ${name}`);
      });
    });
  expect(across).toEqual([]);
});

test('no file takes a file of the domain as a whole, in which a constructor could not be seen', () => {
  const whole = /\bimport\([^)]*\/domain\/|^(?:import|export) \*[^;]*?from '[^']*\/domain\//m;
  expect(
    tree.filter(({ path, code }) => !path.startsWith('domain/') && whole.test(code)).map(({ path }) => path),
  ).toEqual([]);
});

test('the composition root constructs many services, and each exception constructs one', () => {
  expect(
    users.filter(({ path }) => ROOTS_OF_COMPOSITION.has(path)).flatMap(({ names }) => names).length,
  ).toBeGreaterThan(20);
  expect(users.map(({ path }) => path)).toEqual(expect.arrayContaining(Object.keys(EXCEPTIONS)));
});
