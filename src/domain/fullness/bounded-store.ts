import type { Change, Room, Store } from '../../store/port.ts';
import { kindOfKey } from '../records/keys.ts';
import { refuseWithoutRoom, strictestOf } from './room.ts';
import type { Declared } from '../records/registry.ts';

/**
 * The writes of a store, of which each commit is refused from the fullness of its class on, and a record of no declared
 * kind at any.
 * @param commit carries out a commit for which there is room
 */
export const boundedByFullness = (
  store: Pick<Store, 'fullness' | 'hold'>,
  commit: Store['commit'],
): Pick<Store, 'commit' | 'hold'> => ({
  async commit(change) {
    const room = roomOf(change);
    refuseWithoutRoom(store, room);
    return await commit(change.room === room ? change : { ...change, room });
  },
  async hold(key, value, ttlMs) {
    kindOf(key);
    return await store.hold(key, value, ttlMs);
  },
});

/**
 * The class that the change names; where it names none, the strictest one of the records that it puts.
 * @throws RangeError where a record is of no declared kind
 */
export function roomOf({ room, write }: Pick<Change, 'room' | 'write'>): Room {
  const rooms = write.map((one) => ('put' in one ? roomOfRecord(kindOf(one.put)) : 'vital'));
  return room ?? strictestOf(rooms);
}

function kindOf(key: string): Declared {
  const kind = kindOfKey(key);
  if (!kind) throw new RangeError(`No kind of record is declared for the key ${key}.`);
  return kind;
}

/** A record whose commit should have named a class is refused first. */
const roomOfRecord = ({ room }: Declared): Room => (room === 'by commit' ? 'growth' : room);
