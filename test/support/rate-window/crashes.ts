import { setImmediate } from 'node:timers/promises';
import { createWindowKeeper, readKeptWindows } from '../../../src/domain/rate-window/kept-windows.ts';
import {
  createLocalRateWindow,
  type LocalRateWindow,
  type RateDecision,
  type WindowKeeper,
} from '../../../src/domain/rate-window/local-window.ts';
import { StoreUnavailable, type Store } from '../../../src/store/port.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { Boot } from '../../../src/time/boot.ts';
import { wrappedStore } from '../store/wrapped-store.ts';

/** Where the process is killed: at a write of its requests, or after all of them were answered. */
type Kill = 'before the write' | 'after the write' | 'when idle';
/** The fate of the first write: it fails, or it happens and its answer is lost. */
type Trouble = 'refused' | 'answer lost';

/** What happens next to a process and its accounts. */
export interface CrashStep {
  readonly pauseMs: number;
  readonly account: string;
  readonly requests: number;
  /** How long a write takes. */
  readonly writeMs: number;
  readonly trouble?: Trouble | undefined;
  readonly forget: boolean;
  readonly end?: Kill | 'stop' | undefined;
  /** The machine starts anew before the process does: its monotonic clock shows this then. */
  readonly rebootTo?: number | undefined;
}

/** A fault that is planted, to see that it is noticed. */
export interface Slip {
  readonly keeper?: (keeper: WindowKeeper) => WindowKeeper;
  readonly boot?: (boot: Boot) => Boot;
}

interface Start {
  readonly at: number;
  readonly afterKill: boolean;
  readonly afterReboot: boolean;
}

/** One machine with an embedded store, whose process is killed and started again. Times are true ones, in ms. */
class Machine {
  now = 0;
  boot = 'boot 0';
  /** What the monotonic clock of the machine showed at 0. */
  monotonicAt0 = 5_000_000;
  readonly starts: Start[] = [];
  readonly faults: string[] = [];
  #kill: Kill | undefined;
  #trouble: Trouble | undefined;
  #writeMs = 0;
  #died = Promise.withResolvers<void>();
  /** When requests of an account were admitted. */
  readonly #admitted = new Map<string, number[]>();
  readonly #store: Store;
  readonly #slip: Slip;

  constructor(store: Store, slip: Slip) {
    this.#store = store;
    this.#slip = slip;
  }

  async start(start: Start): Promise<LocalRateWindow> {
    const origin = this.now + this.monotonicAt0;
    const clock = { monotonic: () => this.now + this.monotonicAt0 - origin };
    const truth: Boot = { id: this.boot, origin };
    const boot = this.#slip.boot?.(truth) ?? truth;
    this.#died = Promise.withResolvers<void>();
    const store = this.#storeOf(this.#died.promise);
    const keeper = createWindowKeeper({ store, boot });
    const window = createLocalRateWindow(clock, this.#slip.keeper?.(keeper) ?? keeper);
    window.restore(await readKeptWindows({ store, clock, boot, log: { error: () => undefined } }));
    await window.save();
    this.starts.push(start);
    return window;
  }

  /** @returns whether the process was killed meanwhile */
  async serve(window: LocalRateWindow, step: CrashStep): Promise<boolean> {
    this.#kill = step.end === 'stop' ? undefined : step.end;
    this.#trouble = step.trouble;
    this.#writeMs = step.writeMs;
    let isDead = false;
    const charged = Array.from({ length: step.requests }, async () => {
      const decision = await charge(window, step.account);
      if (decision && !isDead) this.#judge(step.account, decision.admitted);
    });
    const died = this.#died.promise.then(() => true);
    isDead = await Promise.race([died, Promise.all(charged).then(() => false)]);
    this.#trouble = undefined;
    const killed = isDead || this.#kill === 'when idle';
    this.#kill = undefined;
    return killed;
  }

  #judge(account: string, admitted: boolean): void {
    const { now } = this;
    const all = this.#admittedOf(account);
    const lately = all.slice(all.findLastIndex((at) => now - at > 60_001) + 1);
    const counted = lately.filter((at) => now - at < 60_000).length;
    if (admitted) {
      all.push(now);
      if (counted >= 600) this.faults.push(`${now}: ${account} has ${counted + 1} in 60 s`);
      return;
    }
    const starts = this.starts.filter(({ at }) => now - at <= 60_001);
    if (starts.some(({ afterReboot }) => afterReboot) && all.length > 0) return;
    const held = 200 * starts.filter(({ afterKill }) => afterKill).length;
    if (lately.length + held < 600)
      this.faults.push(`${now}: ${account} is refused after ${lately.length} and ${held}`);
  }

  #admittedOf(account: string): number[] {
    const all = this.#admitted.get(account) ?? [];
    this.#admitted.set(account, all);
    return all;
  }

  /** The store as one process has it: nothing reaches it, or comes from it, once the process is dead. */
  #storeOf(died: Promise<void>): Store {
    const never = (): Promise<never> => new Promise(() => undefined);
    const mine = this.#died;
    let isDead = false;
    void died.then(() => (isDead = true));
    const dies = (): Promise<never> => {
      isDead = true;
      mine.resolve();
      return never();
    };
    return wrappedStore(this.#store, {
      get: (key) => (isDead ? never() : this.#store.get(key)),
      commit: async (change) => {
        await setImmediate();
        if (isDead) return never();
        if (this.#kill === 'before the write') return dies();
        const trouble = this.#trouble;
        this.#trouble = undefined;
        if (trouble === 'refused') throw new StoreUnavailable('full', 'commit: full');
        const result = await this.#store.commit(change);
        this.now += this.#writeMs;
        if (this.#kill === 'after the write') return dies();
        if (trouble === 'answer lost') throw new StoreUnavailable('failed', 'commit: failed');
        return result;
      },
    });
  }
}

/** @returns undefined where the store could not take the slice: the answer is 502 */
async function charge(window: LocalRateWindow, account: string): Promise<RateDecision | undefined> {
  try {
    return await window.charge(account);
  } catch {
    return undefined;
  }
}

/** Plays the steps. @returns what broke H13, in words */
export async function playCrashes(steps: readonly CrashStep[], slip: Slip = {}): Promise<readonly string[]> {
  await using store = await openSqliteStore(':memory:');
  const machine = new Machine(store, slip);
  let window = await machine.start({ at: 0, afterKill: false, afterReboot: false });
  for (const [index, step] of steps.entries()) {
    machine.now += step.pauseMs;
    if (step.forget) await window.forget();
    const killed = await machine.serve(window, step);
    if (!killed && step.end !== 'stop') continue;
    if (!killed) await window.save();
    if (step.rebootTo !== undefined) {
      machine.boot = `boot ${index + 1}`;
      machine.monotonicAt0 = step.rebootTo - machine.now;
    }
    window = await machine.start({ at: machine.now, afterKill: killed, afterReboot: step.rebootTo !== undefined });
  }
  return machine.faults;
}
