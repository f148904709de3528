import process from 'node:process';
import { expect, test, vi } from 'vitest';
import type { TestModule } from 'vitest/node';
import ClosingLine from './closing-line.ts';

/* The closing line of a run, which other programs read. */

interface Told {
  readonly state: 'passed' | 'failed' | 'skipped';
  readonly repeated?: number;
}

const moduleOf = (...tests: readonly Told[]): TestModule => {
  const all = tests.map(({ state, repeated }) => ({
    state,
    name: 'a test',
    parent: { type: 'module' },
    result: () => ({ state, note: 'no etcd' }),
    meta: () => (repeated === undefined ? {} : { repeatedVerdicts: repeated }),
  }));
  const allTests = (state?: Told['state']) => all.filter((one) => state === undefined || one.state === state);
  return { errors: () => [], relativeModuleId: 'test/a.test.ts', children: { allTests } } as unknown as TestModule;
};

function linesOf(...modules: readonly TestModule[]): string[] {
  using write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  new ClosingLine().onTestRunEnd(modules, []);
  return write.mock.calls
    .map(([text]) => String(text))
    .join('')
    .trimEnd()
    .split('\n');
}

test.each([
  [[moduleOf({ state: 'passed' })], ['1 passed, 0 failed']],
  [
    [moduleOf({ state: 'passed' }, { state: 'skipped' }), moduleOf({ state: 'failed' })],
    ['Skipped: 1 of test/a.test.ts: no etcd', '1 passed, 1 failed, 1 skipped'],
  ],
  [
    [moduleOf({ state: 'passed', repeated: 1 })],
    ['Repeated: 1 verdict, since the machine stood still', '1 passed, 0 failed'],
  ],
  [
    [moduleOf({ state: 'failed', repeated: 4 }, { state: 'skipped' }), moduleOf({ state: 'passed', repeated: 2 })],
    [
      'Skipped: 1 of test/a.test.ts: no etcd',
      'Repeated: 6 verdicts, since the machine stood still',
      '1 passed, 1 failed, 1 skipped',
    ],
  ],
])('%#: the line has the result, after the skipped and the repeated tests', (modules, lines) => {
  expect(linesOf(...modules)).toEqual(lines);
});
