import type { Key, KeyPrefix, Put } from '../../../src/store/port.ts';

/* Keys of no kind of record: for the tests of the stores, and for records that a test damages. */

export const rawKey = (text: string): Key => text as Key;
export const rawPrefix = (text: string): KeyPrefix => text as KeyPrefix;

/** Puts a record of any shape, also where its kind has another one. */
export const rawPut = (key: string, record: object): Put => ({
  put: rawKey(key),
  value: JSON.stringify(record),
});
