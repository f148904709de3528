import process from 'node:process';
import type { Reporter, SerializedError, TestModule } from 'vitest/node';

/**
 * Ends a run with one line of its result, after the skipped and the repeated tests, so that neither goes
 * unseen.
 */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    let passed = 0;
    // A file that cannot be loaded, or an error outside of any test, fails the run like a test.
    let failed = errors.length + modules.reduce((sum, module) => sum + module.errors().length, 0);
    let skipped = 0;
    for (const module of modules) {
      passed += count(module, 'passed');
      failed += count(module, 'failed');
      skipped += count(module, 'skipped');
      tellSkipped(module);
    }
    tellRepeated(modules);
    process.stdout.write(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`);
  }
}

const count = (module: TestModule, state: 'passed' | 'failed' | 'skipped'): number =>
  [...module.children.allTests(state)].length;

/** Each reason that tests gave, or else the title of their suite, with how many of the file it holds for. */
function tellSkipped(module: TestModule): void {
  const reasons = new Map<string, number>();
  for (const test of module.children.allTests('skipped')) {
    const result = test.result();
    const suite = test.parent.type === 'suite' ? test.parent.fullName : test.name;
    const reason = (result.state === 'skipped' && result.note) || suite;
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }
  for (const [reason, tests] of reasons) {
    process.stdout.write(`Skipped: ${tests} of ${module.relativeModuleId}: ${reason}\n`);
  }
}

/** Verdicts on durations that did not count. */
function tellRepeated(modules: readonly TestModule[]): void {
  const tests = modules.flatMap((module) => [...module.children.allTests()]);
  const repeated = tests.reduce((sum, test) => sum + (test.meta().repeatedVerdicts ?? 0), 0);
  if (repeated === 0) return;
  process.stdout.write(`Repeated: ${repeated} verdict${repeated === 1 ? '' : 's'}, since the machine stood still\n`);
}
