import { expect, test } from 'vitest';
import { MusterError } from '#client';
import { sideBySide } from '../../../src/cli/output/side-by-side.ts';
import { CommandFault } from '../../../src/cli/terminal/exit.ts';

const ITEMS = Array.from({ length: 100 }, (_, at) => at);
const refusal = (code: string): MusterError => new MusterError(`it is ${code}`, { code, status: 400 });

/** Runs all items; `fail` may throw for one. */
async function outcome(fail: (item: number) => void) {
  const begun: number[] = [];
  let [atOnce, most] = [0, 0];
  const failures = await sideBySide({
    items: ITEMS,
    what: (item) => `n${item}`,
    ofOneAlone: ['bad'],
    async work(item) {
      begun.push(item);
      most = Math.max(most, (atOnce += 1));
      await Promise.resolve();
      atOnce -= 1;
      fail(item);
    },
  });
  return { failures, begun, most };
}

test('each thing once, at most 16 at a time', async () => {
  const { failures, begun, most } = await outcome(() => undefined);
  expect([failures, begun, most]).toEqual([[], ITEMS, 16]);
});

test('what concerns one alone leaves the others; failures are in the order of the things', async () => {
  const { failures, begun } = await outcome((item) => {
    if (item === 70 || item === 3) throw refusal('bad');
  });
  expect(failures).toEqual([
    { what: 'n3', why: 'it is bad', error: refusal('bad') },
    { what: 'n70', why: 'it is bad', error: refusal('bad') },
  ]);
  expect(begun).toEqual(ITEMS);
});

test.each([
  ['a refusal that concerns all', refusal('worse')],
  ['words of the command', new CommandFault('enough')],
])('%s ends it: nothing more is begun, and the rest is told', async (_what, error) => {
  const { failures, begun } = await outcome((item) => {
    if (item === 20) throw error;
  });
  expect(begun.length).toBeLessThan(40);
  expect(failures).toHaveLength(ITEMS.length - begun.length + 1);
  expect(failures[0]).toEqual({ what: 'n20', why: error.message, error });
  expect(failures.at(-1)).toEqual({ what: 'n99', why: 'not tried, after what failed before it' });
});

test('a fault of the machine is thrown, once all is at rest', async () => {
  const full = Object.assign(new Error('no space'), { code: 'ENOSPC' });
  const failing = outcome((item) => {
    if (item === 20) throw full;
  });
  await expect(failing).rejects.toBe(full);
});
