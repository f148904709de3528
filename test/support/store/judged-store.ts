import { detailsOf } from '../../../src/domain/events/event.ts';
import { kindOfKey, KEYS } from '../../../src/domain/records/keys.ts';
import type { AuditRecord } from '../../../src/domain/records/audit-records.ts';
import type { Store } from '../../../src/store/port.ts';
import { wrappedStore } from './wrapped-store.ts';

/**
 * Judges each record that a service writes by the kind that declares it, and each entry of the audit by the catalogue
 * of events.
 * @throws RangeError from `commit`, `hold` and `rewrite`
 */
export const judgedStore = (store: Store): Store =>
  wrappedStore(store, {
    async commit(change) {
      for (const one of change.write) if ('put' in one) judge(one.put, one.value);
      return await store.commit(change);
    },
    async hold(key, value, ttlMs) {
      judge(key, value);
      const held = await store.hold(key, value, ttlMs);
      if (held === 'taken') return held;
      const rewrite = held.rewrite.bind(held);
      held.rewrite = async (next) => {
        judge(key, next);
        return await rewrite(next);
      };
      return held;
    },
  });

function judge(key: string, value: string): void {
  const kind = kindOfKey(key);
  if (!kind) throw new RangeError(`No kind of record is declared for the key ${key}.`);
  const { error } = kind.schema.safeParse(JSON.parse(value));
  if (error) throw new RangeError(`The record ${key} does not have the shape of its kind: ${error.message}`);
  if (kind === KEYS.audit) judgeEvent(KEYS.audit.schema.parse(JSON.parse(value)));
}

function judgeEvent({ action, detail }: AuditRecord): void {
  const details = detailsOf(action);
  if (!details) throw new RangeError(`The action ${action} is not in the catalogue of events.`);
  const { error } = details.safeParse(detail);
  if (error) throw new RangeError(`The details of ${action} are not those of the catalogue: ${error.message}`);
}
