import { describe, expect, inject, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { systemClock, type Clock } from '../../../src/time/clock.ts';
import { ask, panelMuster, signedIn, type Browser, type PanelMuster } from '../../support/panel/panel-users.ts';
import { asOperator } from '../../support/panel/visitor.ts';
import { Muster, tenant } from '../../support/service/muster.ts';
import { etcdBackend, onEachBackend } from '../../support/store/backends.ts';
import { BeforeCommit } from '../../support/store/before-commit.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

/* The audit tells what happened in the order in which it was committed, and not in that in which requests began. */

interface Told {
  readonly at: string;
  readonly action: string;
}

/** Reads an audit in pages of one entry, by the operator API (oldest first) or in the panel (newest first). */
async function paged(read: (query: string) => ReturnType<typeof ask>, cursor: 'after' | 'before'): Promise<Told[]> {
  const told: Told[] = [];
  let place = '';
  for (;;) {
    const { status, body, text } = await read(`limit=1${place}`);
    expect([status, text]).toEqual([200, expect.any(String)]);
    told.push(...(body['entries'] as Told[]));
    const { next } = body;
    if (typeof next !== 'string') return told;
    place = `&${cursor}=${next}`;
  }
}

const oldestFirst = ({ muster }: Pick<PanelMuster, 'muster'>, accountId: string): Promise<Told[]> =>
  paged((query) => asOperator(muster, `/accounts/${accountId}/audit?${query}`), 'after');
const newestFirst = (panel: PanelMuster, browser: Browser, accountId: string): Promise<Told[]> =>
  paged((query) => ask(panel, browser, `/accounts/${accountId}/audit?${query}`), 'before');
const actions = (told: readonly Told[]): readonly string[] => told.map(({ action }) => action);

onEachBackend('the audit of what happens at once', (backend) => {
  test('has an act of an owner before the removal that was committed after it', async () => {
    const race = new BeforeCommit(KEYS.account.under());
    await using panel = await panelMuster(backend, { wrapStore: race.wrapStore });
    const { accountId } = await tenant(panel.muster);
    const owner = { accounts: [{ accountId, role: 'owner' as const }] };
    const [ann, bob] = [await signedIn(panel.store, owner), await signedIn(panel.store, owner)];
    race.next = async () => {
      const made = await ask(panel, ann, `/accounts/${accountId}/apps`, { method: 'POST', body: { name: 'late' } });
      expect(made.status).toBe(201);
    };
    const path = `/accounts/${accountId}/members/${ann.userId}`;
    expect((await ask(panel, bob, path, { method: 'DELETE' })).status).toBe(204);
    const inOrder = ['account.created', 'key.created', 'app.created', 'member.removed'];
    expect(actions(await oldestFirst(panel, accountId))).toEqual(inOrder);
    expect(actions(await newestFirst(panel, bob, accountId))).toEqual(inOrder.toReversed());
    const whole = await asOperator(panel.muster, `/accounts/${accountId}/audit`);
    expect(actions(whole.body['entries'] as Told[])).toEqual(inOrder);
  });

  test('has a later instant for what was tried again after a conflict', async () => {
    const race = new BeforeCommit(KEYS.account.under());
    const clock = new FakeClock(Date.now());
    await using panel = await panelMuster(backend, { clock, wrapStore: race.wrapStore });
    const { accountId } = await tenant(panel.muster);
    const renamed = (name: string) =>
      asOperator(panel.muster, `/accounts/${accountId}`, { method: 'PATCH', body: { name } });
    race.next = async () => {
      clock.advance(100);
      expect((await renamed('first')).status).toBe(200);
    };
    const second = await asOperator(panel.muster, `/accounts/${accountId}`, {
      method: 'PATCH',
      body: { entitlement: 'standard' },
    });
    expect([second.status, race.isDone]).toEqual([200, true]);
    const [, , one, two] = await oldestFirst(panel, accountId);
    expect([one?.action, two?.action]).toEqual(['account.changed', 'account.changed']);
    expect(Date.parse(two?.at ?? '')).toBeGreaterThanOrEqual(Date.parse(one?.at ?? ''));
  });

  test('shows whoever follows it an entry that was committed late', async () => {
    const race = new BeforeCommit(KEYS.account.under());
    await using panel = await panelMuster(backend, { wrapStore: race.wrapStore });
    const { accountId } = await tenant(panel.muster);
    const owner = { accounts: [{ accountId, role: 'owner' as const }] };
    const [ann, bob] = [await signedIn(panel.store, owner), await signedIn(panel.store, owner)];
    const read = async (query: string) =>
      (await asOperator(panel.muster, `/accounts/${accountId}/audit?${query}`)).body;
    let next: unknown;
    race.next = async () => {
      for (const name of ['one', 'two']) {
        await ask(panel, ann, `/accounts/${accountId}/apps`, { method: 'POST', body: { name } });
      }
      // A follower has read all but the last entry.
      ({ next } = await read('limit=3'));
    };
    await ask(panel, bob, `/accounts/${accountId}/members/${ann.userId}`, { method: 'DELETE' });
    const { entries } = await read(`after=${String(next)}`);
    expect(actions(entries as Told[])).toEqual(['app.created', 'member.removed']);
  });
});

const url = inject('etcd');

/** A clock that is behind, or ahead, of the machine's. */
const shifted = (ms: number): Clock => ({
  now: () => systemClock.now() + ms,
  monotonic: () => systemClock.monotonic(),
  sleep: (pauseMs, signal) => systemClock.sleep(pauseMs, signal),
});

describe.skipIf(url === undefined)('the audit of two replicas whose clocks are a second apart', () => {
  test.each([
    ['behind', -1000],
    ['ahead', 1000],
  ])('has later instants for what depends on earlier entries, where the second one is %s', async (_name, ms) => {
    const place = etcdBackend(url ?? '').place();
    await using one = await Muster.start(place);
    await using other = await Muster.start({ ...place, clock: shifted(ms) });
    const { accountId } = await tenant(one);
    for (const [index, muster] of [one, other, one, other].entries()) {
      const answer = await asOperator(muster, `/accounts/${accountId}`, {
        method: 'PATCH',
        body: { name: `name ${index}` },
      });
      expect(answer.status).toBe(200);
    }
    const instants = (await oldestFirst({ muster: one }, accountId)).map(({ at }) => Date.parse(at));
    expect(instants).toHaveLength(6);
    const later = instants.slice(1).map((at, index) => at > (instants[index] ?? 0));
    expect(later).toEqual([true, true, true, true, true]);
  });
});
