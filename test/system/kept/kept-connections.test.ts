import { describe, expect, test } from 'vitest';
import { readConfig } from '../../../src/config/config.ts';
import { pollIntervalAt } from '../../../src/time/poll-interval.ts';
import {
  ALL_ANSWERED,
  aroundProxies,
  DELAY_MS,
  findPrograms,
  sideBySide,
  toldIntervals,
} from '../../support/kept/side-by-side.ts';
import { Muster } from '../../support/service/muster.ts';

/*
 * Idle connections of clients that send once in an interval, with all times a twentieth of the service's own. The test
 * of every night has the real ones.
 */

const SECOND_MS = 1000 / 20;
/** Node closes a connection so much later than the idle time that it is given. */
const NODE_MS = 1000;

const programs = findPrograms();
const TITLE = 'connections that clients keep over a link with a delay';
const isMissing = typeof programs === 'string';

describe.skipIf(isMissing)(isMissing ? `${TITLE} (${programs})` : TITLE, () => {
  const run = async (idleSeconds: number, intervals: Parameters<typeof sideBySide>[2]) => {
    if (typeof programs === 'string') return expect.unreachable(programs);
    const keepAliveMs = idleSeconds * SECOND_MS - NODE_MS + SECOND_MS;
    await using muster = await Muster.start({
      env: { MUSTER_DEVICE_RATE_PER_MINUTE: '100000' },
      bounds: { device: { concurrencyMax: 1000, connectionsMax: 1000, keepAliveMs } },
    });
    return await sideBySide(programs, { muster, secondMs: SECOND_MS }, intervals);
  };

  test('none of 200 requests each of Python, Go and Go behind Caddy and Apache is broken off', async () => {
    const idle = readConfig({}).idleSeconds.device;
    expect(await run(idle, { direct: toldIntervals(), behindProxies: aroundProxies() })).toMatchObject(ALL_ANSWERED);
  });

  test('where the idle time is no longer than the interval, each of them loses requests', async () => {
    const longest = pollIntervalAt(60, 1);
    // Sent when the service has closed the connection, and its client cannot know yet.
    const late = Array.from({ length: 20 }, () => longest - DELAY_MS / SECOND_MS);
    const told = await run(longest - 1, { direct: late, behindProxies: late });
    // Caddy answers 502, and Apache closes the connection of its client without an answer.
    const lost = Object.entries(told).filter(([, { statuses }]) => (statuses[200] ?? statuses[204] ?? 0) < 20 * 4);
    expect(lost.map(([name]) => name)).toEqual(['python', 'go', 'caddy', 'apache']);
    expect(told.caddy.statuses[502]).toBeGreaterThan(0);
  });
});
