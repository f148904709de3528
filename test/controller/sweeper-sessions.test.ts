import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Reconciler } from '../../src/controller/loop.ts';
import { sweepReconciler } from '../../src/controller/sweeper.ts';
import { systemRandom } from '../../src/domain/credentials/random-ids.ts';
import { FleetMemory } from '../../src/domain/fleet/memory.ts';
import { KEYS } from '../../src/domain/records/keys.ts';
import { createClockWatch } from '../../src/domain/status-history/clock-trust.ts';
import { createLog } from '../../src/log.ts';
import { expectAbsent, type Store } from '../../src/store/port.ts';
import { entriesOf } from '../support/service/accounts.ts';
import { onEachStore } from '../support/store/stores.ts';
import { FakeClock } from '../support/time/fake-clock.ts';
import { rawPut } from '../support/store/raw-key.ts';

const MINUTE_MS = 60_000;
const NOTE = { counters: {} };

onEachStore('the clean-up of links, sessions and what is known of sign-ins', (stores) => {
  let store: Store;
  let clock: FakeClock;
  let memory: FleetMemory;
  let gone: Map<string, number>;
  let sweeper: Reconciler;
  const signal = new AbortController().signal;

  beforeEach(async () => {
    store = await stores.open();
    clock = new FakeClock();
    memory = new FleetMemory({ onUnreadable: () => expect.unreachable('all can be read') });
    gone = new Map();
    const log = createLog('info', { write: () => undefined });
    sweeper = sweepReconciler(
      {
        store,
        fleet: { memory },
        clock,
        clockWatch: createClockWatch({ clock, log }),
        random: systemRandom(),
        log,
        metrics: { cleaned: (what, count = 1) => void gone.set(what, (gone.get(what) ?? 0) + count) },
        auditRetentionDays: 10,
      },
      { fence: [], signal },
    );
    await write(KEYS.user('ann'), {
      name: 'Ann',
      login: '',
      createdAt: 1,
      disabled: false,
      identities: [],
      passkeys: [],
    });
  });
  afterEach(() => store[Symbol.asyncDispose]());

  /** @param isKnown whether memory has it as well */
  async function write(key: string, record: object, isKnown = key.startsWith('d/')): Promise<void> {
    await store.commit({ expect: [expectAbsent(key)], write: [rawPut(key, record)] });
    const written = await store.get(key);
    if (isKnown && written) memory.put(written);
  }
  const session = (id: string, expiresAt: number, isKnown = true): Promise<void> =>
    write(KEYS.session(id), { userId: 'ann', createdAt: 1, expiresAt, method: 'link', browser: '' }, isKnown);
  const left = async (prefix: string): Promise<string[]> => (await entriesOf(store, prefix)).map(({ key }) => key);
  /** Over by the clock of every replica. */
  const over = (): number => clock.now() - 5 * MINUTE_MS;

  test('links that nobody used in time are removed', async () => {
    const link = { kind: 'reset', linkId: 'l', createdAt: 1, by: 'operator', userId: 'ann' };
    await write(KEYS.link('operator', 'old'), { ...link, expiresAt: over() });
    await write(KEYS.link('operator', 'young'), { ...link, expiresAt: over() + 1 });
    await sweeper.reconcile(signal);
    expect(await left(KEYS.link.under())).toEqual([KEYS.link('operator', 'young')]);
    expect(gone.get('links')).toBe(1);
  });

  test('sessions whose time is over are removed with their refresh tokens, many in several commits', async () => {
    for (let i = 0; i < 60; i += 1) await session(`old${i}`, over());
    await session('young', over() + 1);
    await write(KEYS.refresh('old1'), {});
    await write(KEYS.refresh('young'), {});
    await sweeper.reconcile(signal);
    expect(await left(KEYS.session.under())).toEqual([KEYS.session('young')]);
    expect(await left(KEYS.refresh.under())).toEqual([KEYS.refresh('young')]);
    expect(gone.get('sessions')).toBe(60);
  });

  test('access tokens whose time is over are removed, many in several commits', async () => {
    const token = (id: string, expiresAt: number): Promise<void> => {
      const record = { userId: 'ann', accountId: 'a', role: 'viewer', name: 'n', hash: 'h', createdAt: 1, expiresAt };
      return write(KEYS.accessToken(id), record);
    };
    for (let i = 0; i < 60; i += 1) await token(`old${i}`, over());
    await token('young', over() + 1);
    await sweeper.reconcile(signal);
    expect(await left(KEYS.accessToken.under())).toEqual([KEYS.accessToken('young')]);
    expect(gone.get('access_tokens')).toBe(60);
  });

  test('sessions and access tokens whose user is gone are removed; where memory alone has no user they stay', async () => {
    const expiresAt = over() + MINUTE_MS;
    const user = { name: 'Bob', login: '', createdAt: 1, disabled: false, identities: [], passkeys: [] };
    await write(KEYS.user('bob'), user, false);
    for (const userId of ['ann', 'bob', 'gone']) {
      const token = { userId, accountId: 'a', role: 'viewer', name: 'n', hash: 'h', createdAt: 1, expiresAt };
      await write(KEYS.accessToken(`of-${userId}`), token);
      await write(KEYS.session(`of-${userId}`), { userId, createdAt: 1, expiresAt, method: 'link', browser: '' });
      await write(KEYS.refresh(`of-${userId}`), {});
    }
    await sweeper.reconcile(signal);
    expect(await left(KEYS.accessToken.under())).toEqual(['of-ann', 'of-bob'].map((id) => KEYS.accessToken(id)));
    expect(await left(KEYS.session.under())).toEqual(['of-ann', 'of-bob'].map((id) => KEYS.session(id)));
    expect(await left(KEYS.refresh.under())).toEqual(['of-ann', 'of-bob'].map((id) => KEYS.refresh(id)));
    expect([gone.get('access_tokens'), gone.get('sessions')]).toEqual([1, 1]);
  });

  test('what is known of users and sessions that are gone is removed; memory that is behind removes nothing', async () => {
    await write(KEYS.user('new'), {}, false);
    await session('new', over() + MINUTE_MS, false);
    for (const userId of ['ann', 'gone', 'new']) {
      await write(KEYS.signIns(userId), NOTE);
      await write(KEYS.sessionUses(userId), { sessions: [] });
    }
    for (const sessionId of ['gone', 'new']) await write(KEYS.refresh(sessionId), {});
    // Each kind is a piece of its own.
    for (let round = 0; round < 3; round += 1) await sweeper.reconcile(signal);
    expect(await left(KEYS.signIns.under())).toEqual([KEYS.signIns('ann'), KEYS.signIns('new')]);
    expect(await left(KEYS.sessionUses.under())).toEqual([KEYS.sessionUses('ann'), KEYS.sessionUses('new')]);
    expect(await left(KEYS.refresh.under())).toEqual([KEYS.refresh('new')]);
    expect(gone.get('sign_in_notes')).toBe(3);
  });

  test('browsers from which nobody has signed in for long are known no more, and the rest of the record stays', async () => {
    const browser = (hash: string, until: number) => ({ hash, until, failures: 1 });
    const counters = { passkey: 7 };
    await write(KEYS.signIns('ann'), { counters, known: [browser('old', over()), browser('young', over() + 1)] });
    await write(KEYS.user('bob'), {
      name: 'Bob',
      login: '',
      createdAt: 1,
      disabled: false,
      identities: [],
      passkeys: [],
    });
    await write(KEYS.signIns('bob'), { counters, known: [browser('young', over() + 1)] });
    const before = await store.get(KEYS.signIns('bob'));
    await write(KEYS.user('eve'), {
      name: 'Eve',
      login: '',
      createdAt: 1,
      disabled: false,
      identities: [],
      passkeys: [],
    });
    await write(KEYS.signIns('eve'), { damaged: true });
    await sweeper.reconcile(signal);
    const swept = await store.get(KEYS.signIns('ann'));
    expect(JSON.parse(swept?.value ?? '')).toEqual({ counters, known: [browser('young', over() + 1)] });
    expect(await store.get(KEYS.signIns('bob'))).toEqual(before);
    expect(gone.get('known_browsers')).toBe(1);
  });
});
