import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ALL_ANSWERED, aroundProxies, findPrograms, sideBySide, toldIntervals } from '../support/kept/side-by-side.ts';
import { MusterProcess } from '../support/service/muster-process.ts';

/*
 * The idle times of the service as they are, in seven minutes; test/system/kept/kept-connections.test.ts has a
 * twentieth.
 */

const programs = findPrograms();
const TITLE = 'connections that clients keep over a link with a delay, at the real times';
const isMissing = typeof programs === 'string';

describe.skipIf(isMissing)(isMissing ? `${TITLE} (${programs})` : TITLE, () => {
  test('none of 200 requests each of Python, Go and Go behind Caddy and Apache is broken off', async () => {
    if (typeof programs === 'string') return expect.unreachable(programs);
    const dataDir = mkdtempSync(join(tmpdir(), 'muster-'));
    onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
    await using muster = await MusterProcess.start({
      MUSTER_DATA_DIR: dataDir,
      // All connections of a client bear one credential.
      MUSTER_DEVICE_RATE_PER_MINUTE: '100000',
    });
    const intervals = { direct: toldIntervals(), behindProxies: aroundProxies() };
    expect(await sideBySide(programs, { muster, secondMs: 1000 }, intervals)).toMatchObject(ALL_ANSWERED);
  });
});
