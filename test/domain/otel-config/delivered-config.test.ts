import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { generateAppId, systemRandom, type RandomSource } from '../../../src/domain/credentials/random-ids.ts';
import { createEnvelope } from '../../../src/domain/keys/envelope.ts';
import { parseKeyRing } from '../../../src/domain/keys/key-ring.ts';
import { createDeviceConfigs } from '../../../src/domain/otel-config/delivered-config.ts';
import { KEY_FILE_TEXT } from '../../support/service/muster.ts';

const DAEMONS = 20_000;

/** Ids that are the same in every run. */
function seededRandom(): RandomSource {
  let block = 0;
  return {
    bytes(count) {
      block += 1;
      const blocks = Array.from({ length: Math.ceil(count / 32) }, (_, part) =>
        createHash('sha256').update(`${block}/${part}`).digest(),
      );
      return Buffer.concat(blocks).subarray(0, count);
    },
  };
}

/** The largest share of a fleet, begun in one moment, that comes within one second of the round of that number. */
function peaks(intervalSeconds: number, rounds: readonly number[]): number[] {
  const envelope = createEnvelope(parseKeyRing(KEY_FILE_TEXT), systemRandom());
  const configs = createDeviceConfigs(envelope, intervalSeconds);
  const random = seededRandom();
  const intervals = Array.from({ length: DAEMONS }, () => configs.pollIntervalSeconds(generateAppId(random)));
  return rounds.map((round) => {
    const perSecond = Map.groupBy(intervals, (interval) => interval * round);
    return Math.max(...[...perSecond.values()].map((daemons) => daemons.length)) / DAEMONS;
  });
}

test.each([
  [60, 0.1],
  [180, 0.035],
])('daemons that poll in step every %i s are spread at once, and ever further', (interval, firstMax) => {
  const [first = 1, tenth = 1] = peaks(interval, [1, 10]);
  expect(first).toBeLessThanOrEqual(firstMax);
  expect(tenth).toBeLessThanOrEqual(first);
});

test('a fleet that began together spreads: from the tenth round on no ten seconds have more than twice their share', () => {
  const envelope = createEnvelope(parseKeyRing(KEY_FILE_TEXT), systemRandom());
  const configs = createDeviceConfigs(envelope, 60);
  const random = seededRandom();
  const perTenSeconds = new Map<number, number>();
  const [from, until] = [600, 720];
  for (let daemon = 0; daemon < DAEMONS; daemon += 1) {
    const interval = configs.pollIntervalSeconds(generateAppId(random));
    for (let at = interval; at < until; at += interval) {
      if (at >= from) perTenSeconds.set(Math.floor(at / 10), (perTenSeconds.get(Math.floor(at / 10)) ?? 0) + 1);
    }
  }
  const even = (DAEMONS / 60) * 10;
  expect(Math.max(...perTenSeconds.values())).toBeLessThanOrEqual(2 * even);
});
