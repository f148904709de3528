import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { musterCommand, musterHere } from '../../../support/service/muster-command.ts';

/* Where there is no cluster; test/cluster/chart.test.ts has the same commands where there is one. */

let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'muster-'));
  writeFileSync(join(home, 'broken'), 'apiVersion: v1\nclusters: [\n');
});
afterAll(() => rmSync(home, { recursive: true }));
afterEach(() => void vi.unstubAllEnvs());

test.each<[string, readonly string[], Record<string, string>, RegExp]>([
  ['no cluster', ['secrets', '--name=a'], {}, /^muster: No cluster: run it in a pod, or set KUBECONFIG\.\n$/],
  ['no cluster to clean up', ['teardown'], {}, /^muster: No cluster/],
  [
    'a kubeconfig that is none',
    ['secrets', '--name=a'],
    { KUBECONFIG: 'broken' },
    /^muster: The kubeconfig cannot be used: /,
  ],
  ['no name', ['secrets'], {}, /required option '--name/],
  ['a time that is none', ['teardown', '--timeout-seconds=soon'], {}, /It is a whole number of seconds\./],
])('%s is wrong usage', async (_what, args, env, words) => {
  // The client of Kubernetes reads the environment of the process.
  vi.stubEnv('HOME', home);
  vi.stubEnv('KUBECONFIG', env['KUBECONFIG'] === undefined ? undefined : join(home, env['KUBECONFIG']));
  const { code, stderr } = await musterHere(['kubernetes', ...args]);
  expect([code, stderr]).toEqual([2, expect.stringMatching(words)]);
});

test('so it is of a process', async () => {
  const { code, stderr } = await musterCommand(['kubernetes', 'secrets', '--name=a'], { HOME: home });
  expect([code, stderr]).toEqual([2, 'muster: No cluster: run it in a pod, or set KUBECONFIG.\n']);
});
