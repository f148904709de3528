import { StoreUnavailable, type Change, type WriteClass, type Store } from '../../store/port.ts';
import { LIMITS } from '../limits.ts';
import { kindOf } from '../records/keys.ts';
import type { Declared } from '../records/registry.ts';

/*
 * A12: a store that Muster's own writes have filled still takes revocations. So writes are refused one class after the
 * other while the store fills up, and the last class is never refused here.
 */

const REFUSED_FROM: Readonly<Record<Exclude<WriteClass, 'vital'>, number>> = {
  growth: LIMITS.storeFullnessMax,
  upkeep: LIMITS.storeUpkeepFullnessMax,
};

/** The class of a commit that is for all of these: the one that is refused first. */
export function strictestOf(classes: readonly WriteClass[]): WriteClass {
  if (classes.includes('growth')) return 'growth';
  return classes.includes('upkeep') ? 'upkeep' : 'vital';
}

/**
 * The class that the change names; where it names none, the strictest one of the records that it puts.
 * @throws RangeError where a record is of no declared kind
 */
export function writeClassOfChange({ writeClass, write }: Pick<Change, 'writeClass' | 'write'>): WriteClass {
  const classes = write.map((one) => ('put' in one ? classOfRecord(kindOf(one.put)) : 'vital'));
  return writeClass ?? strictestOf(classes);
}

/** A record whose commit should have named a class is refused first. */
const classOfRecord = ({ writeClass }: Declared): WriteClass => (writeClass === 'by commit' ? 'growth' : writeClass);

/** Whether a store of this fullness takes such a commit. An unknown fullness (NaN) refuses nothing. */
export function hasRoomFor(writeClass: WriteClass, fullness: number): boolean {
  return writeClass === 'vital' || !(fullness >= REFUSED_FROM[writeClass]);
}

/** @throws StoreUnavailable `full` where the store is too full for such a commit */
export function refuseWithoutRoom(store: Pick<Store, 'fullness'>, writeClass: WriteClass): void {
  const fullness = store.fullness();
  if (hasRoomFor(writeClass, fullness)) return;
  throw new StoreUnavailable(
    'full',
    `The store is ${Math.floor(fullness * 100)} % full and takes no ${writeClass}; this was not sent.`,
  );
}

/** The fullness of the store in a sentence; undefined while there is room or nothing is known. */
export function fullInWords(fullness: number): string | undefined {
  if (fullness >= 1) {
    return 'the store is full and takes no writes at all: reads go on, revocations are 502 (runbook: MusterStoreFull)';
  }
  if (hasRoomFor('growth', fullness)) return undefined;
  const others = hasRoomFor('upkeep', fullness) ? '' : ', and last contacts and nights are not written';
  return `the store is ${Math.floor(fullness * 100)} % full: only what takes access away is taken${others}`;
}
