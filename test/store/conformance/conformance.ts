/**
 * The promises of src/store/port.ts, as tests that every back-end runs. A new promise of the port begins here.
 */
import { describe } from 'vitest';
import { commitPromises } from './commits.ts';
import { harness, type OpenStore, type Unkept } from './harness.ts';
import { headPromises } from './head.ts';
import { historyPromises } from './history.ts';
import { holdPromises } from './holds.ts';
import { modelPromises } from './model.ts';
import { readPromises } from './reads.ts';
import { retainPromises } from './retain.ts';
import { watchPromises } from './watch.ts';

export type { OpenStore, StoreUnderTest, Unkept } from './harness.ts';

/**
 * Runs every promise, each on a store of its own from `openStore` (an empty one: no key, no head). `unkept` names the
 * promises that this back-end cannot keep, by their sentence, with the reason; the reason is printed beside the name.
 */
export function storeConformance(name: string, openStore: OpenStore, unkept: Unkept = {}): void {
  describe(name, () => {
    const { promise, everyExceptionIsAPromise } = harness(openStore, unkept);
    readPromises(promise);
    commitPromises(promise);
    headPromises(promise);
    historyPromises(promise);
    watchPromises(promise);
    holdPromises(promise);
    retainPromises(promise);
    modelPromises(promise);
    everyExceptionIsAPromise();
  });
}
