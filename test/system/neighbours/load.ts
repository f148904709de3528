import { setTimeout as sleep } from 'node:timers/promises';
import { appOf, createApp, deleteApp, listApps, type Owner } from '../../chaos/cluster/calls.ts';
import { Client } from '../../chaos/cluster/client.ts';
import { isOk, type Recorder } from '../../chaos/judgement/history.ts';
import { HAMMER } from '../../chaos/judgement/validity.ts';
import { seeded, whole, type Random } from '../../chaos/random.ts';
import { codes } from '../../chaos/workload/codes.ts';
import { configs } from '../../chaos/workload/configs.ts';
import { hammer } from '../../chaos/workload/hammer.ts';
import { keys } from '../../chaos/workload/keys.ts';
import { lives } from '../../chaos/workload/lives.ts';
import { newOwner, type Job } from '../../chaos/workload/worker.ts';
import type { Pair } from './pair.ts';

/** The pace of a client whose account is admitted ten requests a second. */
const HAMMER_PER_SECOND = 13;
const NEAR_PER_SECOND = 9;

/** So many creates at once for the last places of an account. */
const CREATES_AT_ONCE = 8;
const DELETED = 4;
const FULL_PAUSE_MS = 6000;

/** An account that is full but for a few places: creates race for them through both, and some apps make room again. */
const full =
  (owner: Owner): Job =>
  async (worker) => {
    for (let number = 0; !worker.signal.aborted; number += CREATES_AT_ONCE) {
      const asked = Array.from({ length: CREATES_AT_ONCE }, (_, n) => worker.send(createApp(owner, number + n), n % 2));
      const created = (await Promise.all(asked)).filter(isOk);
      await worker.send(listApps(owner));
      const gone = created
        .slice(0, DELETED)
        .map(({ body }, n) => worker.send(deleteApp(owner, appOf(body).app), n % 2));
      await Promise.all(gone);
      await worker.pace(FULL_PAUSE_MS);
    }
  };

/** An account that stays a little below its 600 a minute. */
const near: Job = async (worker) => {
  const owner = await newOwner(worker);
  if (!owner) return;
  for (let number = 0; !worker.signal.aborted; number += 1) {
    await Promise.all([worker.send(listApps(owner), number % 2), worker.pace(1000 / NEAR_PER_SECOND)]);
  }
};

/** The others work at a third of the pace that they have beside faults: what counts here is the time that passes. */
const SLOWER = 3;

const jobsOf = (owner: Owner): readonly (readonly [name: string, job: Job, slower: number])[] => [
  ['lives-1', lives, SLOWER],
  ['lives-2', lives, SLOWER],
  ['keys', keys, SLOWER],
  ['codes', codes, SLOWER],
  ['configs', configs, SLOWER],
  ['full', full(owner), 1],
  ['near', near, 1],
  [HAMMER, hammer(HAMMER_PER_SECOND), 1],
];

/** Runs the work of all jobs around what is done meanwhile. */
export async function underMixedLoad(
  { pair, recorder, owner, random }: { pair: Pair; recorder: Recorder; owner: Owner; random: Random },
  during: () => Promise<void>,
): Promise<void> {
  const ending = new AbortController();
  const { signal } = ending;
  const all = jobsOf(owner).map(async ([name, job, slower]) => {
    const client = new Client(name, pair, recorder);
    const chance = seeded(whole(random, 2 ** 31));
    await job({
      random: chance,
      signal,
      recorder,
      send: (asked, replica = whole(chance, 2)) => client.send(replica, asked),
      pace: (ms) => sleep(ms * slower, undefined, { signal }).catch(() => undefined),
    });
    client.close();
  });
  try {
    await during();
  } finally {
    ending.abort();
    await Promise.all(all);
  }
}
