import { afterAll, test } from 'vitest';
import { leaveStage, withstands } from './stage.ts';

/* H7: no body costs the event loop more than its bytes. */

afterAll(leaveStage);

test('60 bodies of 14 bytes a second in brotli, without a credential', async (context) => {
  await withstands('costly-bodies', context, {
    args: { what: 'brotli without a credential', perSecond: 60 },
    ms: 2000,
  });
});

test('120 bodies of 64 KiB a second that inflate to nothing, with a credential', async (context) => {
  await withstands('costly-bodies', context, { args: { what: 'deflate with a credential', perSecond: 120 }, ms: 2000 });
});
