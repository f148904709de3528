import { expect, test } from 'vitest';
import { openedCore } from '../support/service/opened-core.ts';

test('H15: by default a service answers within two seconds, and gives the store less', async () => {
  await using opened = await openedCore({ place: () => ({}) });
  expect(opened.core.deadlines).toEqual({ requestMs: 1900, storeMs: 1800 });
});
