import type { Change, Room, Store } from '../../store/port.ts';
import { wrappedStore } from '../../store/wrapped.ts';
import { kindOfKey } from '../records/keys.ts';
import { refuseWithoutRoom, strictestOf } from './room.ts';

/**
 * Wraps the store so that each commit is refused from the fullness of its class on, and a record of no declared kind at any.
 */
export function boundedByFullness(store: Store): Store {
  return wrappedStore(store, {
    async commit(change) {
      for (const one of change.write) if ('put' in one) assertDeclared(one.put);
      const room = roomOf(change);
      refuseWithoutRoom(store, room);
      return await store.commit(change.room === room ? change : { ...change, room });
    },
  });
}

/** The class that the change names; where it names none, the strictest one of the records that it puts. */
export function roomOf({ room, write }: Pick<Change, 'room' | 'write'>): Room {
  if (room !== undefined) return room;
  return strictestOf(write.map((one) => ('put' in one ? roomOfRecord(one.put) : 'vital')));
}

/** @throws RangeError */
function assertDeclared(key: string): void {
  if (!kindOfKey(key)) throw new RangeError(`No kind of record is declared for the key ${key}.`);
}

/** A record whose commit should have named a class is refused first. */
function roomOfRecord(key: string): Room {
  const room = kindOfKey(key)?.room ?? 'by commit';
  return room === 'by commit' ? 'growth' : room;
}
