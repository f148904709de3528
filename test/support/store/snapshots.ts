import { versioned, type Versioned } from '../../../src/domain/records/codec.ts';
import { rawKey } from './raw-key.ts';

/** A record as a read of the store would have found it. */
export const foundAt = <T>(revision: number, record: T, key = 'a/key'): Versioned<T> =>
  versioned({ key: rawKey(key), revision, value: '' }, record);
