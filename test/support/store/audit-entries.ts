import { expect } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { expectAbsent, type Store } from '../../../src/store/port.ts';
import { HOUR_MS } from '../../../src/time/utc-days.ts';
import { rawKey, rawPut } from './raw-key.ts';

/**
 * Puts so many entries into each of the last hours of an audit, which a page is too small for.
 * @returns how many there are
 */
export async function busyHours(
  store: Store,
  accountId: string,
  { hours, now }: { readonly hours: number; readonly now: number },
): Promise<number> {
  const each = 260;
  for (let hour = hours; hour > 0; hour -= 1) {
    const write = Array.from({ length: each }, (_, index) => {
      const at = now - hour * HOUR_MS + Math.floor((index * HOUR_MS) / each);
      const record = { at, actor: 'key:somebody', action: 'app.created', requestId: 'r', detail: {} };
      return rawPut(KEYS.audit(accountId, at, index.toString(16)), record);
    });
    for (let from = 0; from < each; from += 60) {
      const part = write.slice(from, from + 60);
      const absent = expectAbsent(rawKey(part[0]?.put ?? ''));
      expect((await store.commit({ expect: [absent], write: part })).outcome).toBe('committed');
    }
  }
  return hours * each;
}
