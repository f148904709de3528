import type { TurnQueue } from '../../concurrency/turn-queue.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { FoundApp } from '../fleet/reader.ts';

/** Waits for a change of an app, or of its account or configuration. */
export interface ChangeWaits {
  /**
   * Resolves at the next change, when the signal aborts, or when the process is to end. The caller takes it before it
   * reads the state, so that no change is missed.
   */
  next(found: FoundApp, signal: AbortSignal): Promise<void>;
  /** How many requests wait now. */
  readonly held: () => number;
}

/**
 * @param turns paces the requests that a change, or the end, lets go on at once, since they may be very many
 * @param stopping ends every wait
 */
export function createChangeWaits(fleet: Fleet, turns: TurnQueue, stopping: AbortSignal): ChangeWaits {
  const byApp = new Map<string, Set<() => void>>();
  const byAccount = new Map<string, Set<() => void>>();
  let held = 0;

  const wakeAll = (waits: Set<() => void> | undefined): void => {
    for (const wake of waits ?? []) turns.do(wake);
  };
  fleet.memory.onChange((accountId, appId) =>
    wakeAll(appId === undefined ? byAccount.get(accountId) : byApp.get(appId)),
  );

  stopping.addEventListener('abort', () => {
    for (const waits of byAccount.values()) wakeAll(waits);
  });

  function join(waits: Map<string, Set<() => void>>, id: string, wake: () => void): () => void {
    let set = waits.get(id);
    if (!set) waits.set(id, (set = new Set()));
    set.add(wake);
    return () => {
      set.delete(wake);
      if (set.size === 0 && waits.get(id) === set) waits.delete(id);
    };
  }

  return {
    held: () => held,
    async next({ account, app }, signal) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const leave = [join(byApp, app.id, resolve), join(byAccount, account.id, resolve)];
      signal.addEventListener('abort', () => resolve(), { once: true });
      if (signal.aborted || stopping.aborted) resolve();
      held += 1;
      await promise;
      held -= 1;
      for (const undo of leave) undo();
    },
  };
}
