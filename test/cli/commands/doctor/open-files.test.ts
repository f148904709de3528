import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  connectedTo,
  musterHere,
  musterProcess,
  notStarted,
  withOpenFiles,
} from '../../../support/service/muster-command.ts';
import { Muster } from '../../../support/service/muster.ts';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'muster-'));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

describe.skipIf(process.platform !== 'linux')('the limit of open files', () => {
  test.each([
    [191, 3, /^fail {2}open files +The limit of open files is 191, and must be 192 at least: raise it/m],
    [
      200,
      0,
      /^warn {2}open files +the limit here \(ulimit -n\) is 200, .* 85 of 100000 for device, .*to 123734 for all$/m,
    ],
    [1024, 0, /^warn {2}open files .* 600 of 100000 for device/m],
    [16_000, 0, /^ok {4}open files +the limit here \(ulimit -n\) is 16000, which leaves fewer connections: /m],
  ])('of %i here, where a service would start: exit code %i', async (max, code, says) => {
    const { ended } = musterProcess(['doctor'], notStarted(dataDir), { under: withOpenFiles(max) });
    expect(await ended).toMatchObject({ code, stdout: expect.stringMatching(says) as string });
  });

  test('counts for the listeners that the process has', async () => {
    const env = { ...notStarted(dataDir), MUSTER_ROLES: 'api', MUSTER_PANEL_LISTEN: 'off' };
    const { ended } = musterProcess(['doctor'], env, { under: withOpenFiles(1024) });
    expect((await ended).stdout).toMatch(
      /^warn {2}open files .*connections: 840 of 10000 for api, 120 of 1000 for ops; /m,
    );
  });

  test('is that of a service that runs', async () => {
    await using muster = await Muster.start({ dataDir });
    const { stdout } = await musterHere(['doctor'], { ...notStarted(dataDir), ...connectedTo(muster) });
    expect(stdout).toMatch(/^\S+ +open files +the limit of the service is \d+, /m);
  });

  test('is not judged where the service runs and does not answer', async () => {
    const { stdout } = await musterHere(['doctor', '--running'], notStarted(dataDir));
    expect(stdout).not.toContain('open files');
  });
});
