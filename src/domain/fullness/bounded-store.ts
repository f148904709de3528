import type { Change, Store } from '../../store/port.ts';
import { wrappedStore } from '../../store/wrapped.ts';
import { roomOfKey } from './record-rooms.ts';
import { refuseWithoutRoom, type Room } from './room.ts';

/**
 * Wraps the store so that each commit without a mutation is refused from the fullness of its class on. A commit of a
 * mutation was judged before, by its action (domain/mutation/commit.ts).
 */
export function boundedByFullness(store: Store): Store {
  return wrappedStore(store, {
    async commit(change) {
      const room = roomOf(change);
      if (room === undefined) return await store.commit(change);
      refuseWithoutRoom(store, room);
      return await store.commit(room === 'vital' ? { ...change, fromReserve: true } : change);
    },
  });
}

/** The strictest class of the records that the change puts; undefined where a mutation has decided. */
export function roomOf({ write }: Pick<Change, 'write'>): Room | undefined {
  let strictest: Room = 'vital';
  for (const one of write) {
    if (!('put' in one)) continue;
    // A record that the table does not know is refused first.
    const room = roomOfKey(one.put) ?? 'growth';
    if (room === 'by action') return undefined;
    if (room === 'growth' || (room === 'upkeep' && strictest === 'vital')) strictest = room;
  }
  return strictest;
}
