import type { World } from '../cluster/world.ts';
import { HAMMER } from '../judgement/validity.ts';
import { seeded, whole, type Random } from '../random.ts';
import { capped } from './capped.ts';
import { codes } from './codes.ts';
import { configs } from './configs.ts';
import { hammer } from './hammer.ts';
import { keys } from './keys.ts';
import { lives } from './lives.ts';
import { pairs } from './pairs.ts';
import { people } from './people.ts';
import { work, type Job } from './worker.ts';

function jobsOf(world: World, hammerPerSecond: number): ReadonlyMap<string, Job> {
  return new Map<string, Job>([
    ['lives-1', lives],
    ['lives-2', lives],
    ['lives-3', lives],
    ['keys-1', keys],
    ['keys-2', keys],
    ['codes', codes],
    ['configs-1', configs],
    ['configs-2', configs],
    ['pairs-1', pairs],
    ['pairs-2', pairs],
    ['people', people(world.store)],
    ['capped', capped(world.nearlyFull)],
    [HAMMER, hammer(hammerPerSecond)],
  ]);
}

/** Runs the work of all jobs around what is done meanwhile. */
export async function underLoad<T>(
  world: World,
  random: Random,
  hammerPerSecond: number,
  during: () => Promise<T>,
): Promise<T> {
  const ending = new AbortController();
  const deps = { replicas: world, recorder: world.recorder, signal: ending.signal };
  const all = [...jobsOf(world, hammerPerSecond)].map(([name, job]) =>
    work(name, job, { ...deps, random: seeded(whole(random, 2 ** 31)) }),
  );
  try {
    return await during();
  } finally {
    ending.abort();
    await Promise.all(all);
  }
}
