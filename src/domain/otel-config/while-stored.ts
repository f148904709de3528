import type { Fleet } from '../fleet/fleet.ts';
import type { OtelRecord } from '../records/otel-records.ts';

/** A configuration that is used for a while, as it is given to a guarded call. */
interface StoredWhile extends Disposable {
  /** Aborted as soon as this replica hears of another configuration. */
  readonly withdrawn: AbortSignal;
  /** Whether the store has it still. @throws StoreUnavailable */
  readonly maySend: () => Promise<boolean>;
}

/**
 * Watches over the use of a configuration: once a purge, or a change of the header, has been answered by any replica,
 * nobody begins to send what was stored before (O10). The notice of this replica's watch ends a use early; the read
 * decides, since a watch may be late or silent.
 */
export function whileStored(
  fleet: Pick<Fleet, 'memory' | 'current'>,
  accountId: string,
  used: Pick<OtelRecord, 'revision' | 'tag'>,
): StoredWhile {
  const over = new AbortController();
  const stop = fleet.memory.onChange((changedId, appId) => {
    if (changedId !== accountId || appId !== undefined) return;
    // Memory may be older than the read by which the use began: only a later revision tells something.
    const known = fleet.memory.account(accountId)?.otel()?.record;
    if (known && known.revision > used.revision) over.abort();
  });
  return {
    withdrawn: over.signal,
    async maySend() {
      const reader = await fleet.current();
      const otel = (await (await reader.account(accountId))?.otel())?.record;
      // A key rotation seals the header anew, and changes neither of them.
      return otel?.revision === used.revision && otel.tag === used.tag;
    },
    [Symbol.dispose]: stop,
  };
}
