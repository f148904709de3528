import { expect, test } from 'vitest';
import { LossyProxy } from '../http/lossy-proxy.ts';
import { Muster } from '../service/muster.ts';
import { targets } from './targets.ts';

test('what the fuzzer is told of exists, though the service fails and answers are lost meanwhile', async () => {
  await using muster = await Muster.start();
  await using api = await LossyProxy.before(muster.api);
  await using device = await LossyProxy.before(muster.device);
  api.odds = device.odds = { 502: 0.2, lost: 0.2 };
  // What the daemons report is lost once each.
  const reported = new Set<string | undefined>();
  device.fate = ({ url, headers }) => {
    if (url !== '/device/v1/detections') return undefined;
    const { authorization } = headers;
    if (reported.has(authorization)) return 'through';
    reported.add(authorization);
    return 502;
  };
  const { v1, operator } = await targets({ api: api.url, device: device.url, ops: muster.ops, panel: '' });
  expect(new Set(v1.ids['appId']).size).toBe(59);
  expect(new Set(operator.ids['entryId']).size).toBe(5);
  expect(operator.ids['entryId']).not.toContain('');
});
