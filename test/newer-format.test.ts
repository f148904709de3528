import { describe, expect, test } from 'vitest';
import { FORMAT_LOOK_EVERY_MS } from '../src/domain/format.ts';
import { FORMAT, formatSchema, KEYS, parseRecord, put } from '../src/domain/records.ts';
import type { Store } from '../src/store/port.ts';
import { onEachBackend } from './support/backends.ts';
import { FakeClock } from './support/fake-clock.ts';
import { unluckyStore, type UnluckyStore } from './support/unlucky-store.ts';
import { until } from './support/until.ts';

/* A running Muster, and one that starts, whose store a newer Muster takes over. test/system has whole processes. */

/** Whoever has not noticed by then never will. */
const ROUNDS_MAX = 300;

/** As a newer Muster begins its migration. */
async function raise(store: Store): Promise<void> {
  const entry = await store.get(KEYS.format);
  if (!entry) throw new Error('the store has no format');
  const { record, revision } = parseRecord(formatSchema, entry);
  const { outcome } = await store.commit({
    expect: [{ key: KEYS.format, revision }],
    write: [put(KEYS.format, { ...record, format: FORMAT + 1, migratingFrom: FORMAT })],
  });
  expect(outcome).toBe('committed');
}

onEachBackend('a format that becomes newer', (backend) => {
  describe.each(['api,device', 'controller', 'api,device,controller'])('with the roles %s', (roles) => {
    test('is noticed by the first look after an outage', async () => {
      const clock = new FakeClock();
      let store: UnluckyStore | undefined;
      await using muster = await backend.fresh({
        clock,
        env: { MUSTER_ROLES: roles },
        wrapStore: (real) => (store = unluckyStore(real)),
      });
      if (!store) throw new Error('the store was not opened');
      let outdated: number | undefined;
      void muster.service.outdated.then((format) => (outdated = format));
      const looks = (): number => muster.logged.filter((line) => line.includes('"loop":"format"')).length;
      let rounds = 0;
      const passed = (): boolean => {
        clock.advance(FORMAT_LOOK_EVERY_MS);
        rounds += 1;
        return true;
      };
      store.down.add('get');
      await until(() => passed() && looks() > 0);
      expect(outdated).toBeUndefined();
      store.down.delete('get');
      await raise(store);
      rounds = 0;
      await until(() => passed() && (outdated !== undefined || rounds === ROUNDS_MAX));
      expect(outdated).toBe(FORMAT + 1);
    });
  });

  test('between the first look of a start and its announcement is refused, as before the first look', async () => {
    const { store: choice, env } = backend.place();
    let isRaised = false;
    const start = backend.fresh({
      ...(choice !== undefined && { store: choice }),
      ...(env && { env }),
      wrapStore(real) {
        const late = unluckyStore(real);
        late.intercept('hold', 'before', async () => {
          isRaised = true;
          await raise(real);
        });
        return late;
      },
    });
    await expect(start).rejects.toThrow(`written by a newer Muster (format ${FORMAT + 1}`);
    expect(isRaised).toBe(true);
  });
});
