import { setTimeout as sleep } from 'node:timers/promises';
import type { World } from '../cluster/world.ts';
import type { Random } from '../random.ts';

/** The durations and repetitions of the long form, and of the short one. */
export interface Extent {
  readonly holdMs: number;
  readonly cutMs: number;
  readonly kills: number;
  readonly rollingPerSecond: number;
  /** The pause of the rolling restart before the first replica, and after each. */
  readonly steadyMs: number;
  /** The pause after the last fault: after it the rate window is free of effects of the faults. */
  readonly calmMs: number;
}

/** A figure of the report; `limit` in the same unit, where it is a pass figure. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: 'ms' | 'requests/s' | 'requests' | 'states' | 'replicas';
  readonly limit?: number;
  /** The limit is a least, not a most. */
  readonly atLeast?: true;
}

interface Struck {
  readonly figures?: readonly Figure[];
  /** The violations that the fault itself saw, in words. */
  readonly violations?: readonly string[];
}

/** One way to break things. `strike` breaks and mends; the runner sees to load before it and to recovery after it. */
export interface Fault {
  readonly name: string;
  readonly limits?: { readonly writeGapMs?: number; readonly recoveryMs?: number };
  strike(world: World, extent: Extent, random: Random): Promise<Struck>;
}

export const hold = (ms: number): Promise<void> => sleep(ms);

const LOOK_MS = 20;

/** Looks again and again; how long it took in milliseconds, infinite when it never came in time. */
export async function took(holds: () => Promise<boolean>, maxMs: number): Promise<number> {
  const startedAt = performance.now();
  for (;;) {
    const holdsNow = await holds().catch(() => false);
    const ms = performance.now() - startedAt;
    if (holdsNow) return ms;
    if (ms > maxMs) return Number.POSITIVE_INFINITY;
    await sleep(LOOK_MS);
  }
}
