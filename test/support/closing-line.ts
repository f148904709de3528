import process from 'node:process';
import type { Reporter, SerializedError, TestModule } from 'vitest/node';

/** Ends a run with one line that tells how it went, after what was skipped, so that no skip goes unseen. */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    let passed = 0;
    // A file that cannot be loaded, or an error outside of any test, fails the run like a test.
    let failed = errors.length + modules.reduce((sum, module) => sum + module.errors().length, 0);
    let skipped = 0;
    for (const module of modules) {
      passed += count(module, 'passed');
      failed += count(module, 'failed');
      const skippedHere = count(module, 'skipped');
      skipped += skippedHere;
      if (skippedHere > 0) process.stdout.write(`Skipped: ${skippedHere} of ${module.relativeModuleId}\n`);
    }
    process.stdout.write(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`);
  }
}

const count = (module: TestModule, state: 'passed' | 'failed' | 'skipped'): number =>
  [...module.children.allTests(state)].length;
