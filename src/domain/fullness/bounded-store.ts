import type { Change, Room, Store } from '../../store/port.ts';
import { wrappedStore } from '../../store/wrapped.ts';
import { roomOfKey } from './record-rooms.ts';
import { refuseWithoutRoom, strictestOf } from './room.ts';

/** Wraps the store so that each commit is refused from the fullness of its class on. */
export function boundedByFullness(store: Store): Store {
  return wrappedStore(store, {
    async commit(change) {
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

/** A record that the table does not know is refused first, and so is one whose commit should have named a class. */
function roomOfRecord(key: string): Room {
  const room = roomOfKey(key);
  return room === undefined || room === 'by commit' ? 'growth' : room;
}
