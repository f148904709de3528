import { expect, test } from 'vitest';
import { LossyProxy } from '../../support/http/lossy-proxy.ts';
import { connectedTo, musterHere, ownedBy } from '../../support/service/muster-command.ts';
import { createApp, Muster, tenant } from '../../support/service/muster.ts';

test('--request-id is the id of every request: of a watch, and of the look for the only account', async () => {
  await using muster = await Muster.start();
  const { apiKey } = await tenant(muster);
  await createApp(muster, apiKey);
  await using api = await LossyProxy.before(muster.api);
  await using ops = await LossyProxy.before(muster.ops);
  const id = ['--request-id', 'my-own.1'];
  const watched = await musterHere(['apps', 'watch', '--limit', '1', ...id], ownedBy({ api: api.url }, apiKey));
  const rollout = await musterHere(['rollout', 'status', ...id], connectedTo({ ops: ops.url }));
  expect([watched.code, rollout.code]).toEqual([0, 0]);
  expect(api.seen.map(({ headers }) => headers['x-request-id'])).toEqual(['my-own.1']);
  expect(ops.seen.map(({ headers }) => headers['x-request-id'])).toEqual(['my-own.1', 'my-own.1']);
});
