import { expect, test } from 'vitest';
import { lead, type Term } from '../../src/controller/leader.ts';
import { KEYS } from '../../src/domain/records/keys.ts';
import type { Registration } from '../../src/domain/replicas/replicas.ts';
import { createLog } from '../../src/log.ts';
import { createMetrics } from '../../src/metrics/service-metrics.ts';
import { expectRevision } from '../../src/store/entry.ts';
import { ABSENT, expectAbsent, type Held, type Store } from '../../src/store/port.ts';
import { faultyStore } from '../support/store/faulty-store.ts';
import { onEachStore } from '../support/store/stores.ts';
import { wrappedStore } from '../support/store/wrapped-store.ts';
import { FakeClock } from '../support/time/fake-clock.ts';
import { until } from '../support/time/until.ts';
import { rawKey } from '../support/store/raw-key.ts';

const log = createLog('silent');
const NEVER = new AbortController().signal;

/** A controller whose work is to tell its terms and to wait until they end. */
class Candidate implements AsyncDisposable {
  readonly terms: Term[] = [];
  readonly #metrics = createMetrics('test');
  working = 0;
  registration: Registration | undefined;
  readonly #stopping = new AbortController();
  readonly #ended: Promise<void>;

  constructor(store: Store, clock: FakeClock, replicaId: string, lost: AbortSignal | null = NEVER) {
    this.registration = lost ? { lost } : undefined;
    const work = async (term: Term): Promise<void> => {
      this.terms.push(term);
      this.working += 1;
      await new Promise<void>((resolve) => {
        if (term.signal.aborted) resolve();
        else term.signal.addEventListener('abort', () => resolve(), { once: true });
      });
      this.working -= 1;
    };
    const replicas = { registration: () => this.registration };
    this.#ended = lead({ store, clock, log, metrics: this.#metrics, replicaId, replicas }, work, this.#stopping.signal);
  }

  get term(): Term {
    const last = this.terms.at(-1);
    if (!last) throw new Error('it never led');
    return last;
  }

  async metric(name: string): Promise<string | undefined> {
    const lines = (await this.#metrics.registry.metrics()).split('\n');
    return lines.find((line) => line.startsWith(`${name} `))?.slice(name.length + 1);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#ended;
  }
}

/** Time passes until it holds: a controller that does not lead checks every second. */
const passUntil = (clock: FakeClock, holds: () => boolean): Promise<void> =>
  until(() => {
    if (!holds()) clock.advance(1000);
    return holds();
  });

const write = (store: Store, term: Term, key: string): ReturnType<Store['commit']> =>
  store.commit({ expect: [expectAbsent(key), ...term.fence], write: [{ put: rawKey(key), value: '1' }], quiet: true });

/** Removes the key without its holder, as its expiry does. */
async function removeLeader(store: Store): Promise<void> {
  const held = await store.get(KEYS.leader());
  await store.commit({
    expect: [expectRevision(KEYS.leader(), held?.revision ?? ABSENT)],
    write: [{ remove: KEYS.leader() }],
    quiet: true,
  });
}

onEachStore('leadership', (stores) => {
  test('one of two controllers leads, and logs it', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    await using one = new Candidate(store, clock, 'one');
    await until(() => one.working === 1);
    await using two = new Candidate(store, clock, 'two');
    await until(() => clock.sleeping > 0);
    clock.advance(1000);
    await until(() => clock.sleeping > 0);
    expect(two.terms).toHaveLength(0);
    expect(await one.metric('muster_controller_leading')).toBe('1');
    expect(await two.metric('muster_controller_leading')).toBe('0');
    expect(await one.metric('muster_controller_leader_known')).toBe('1');
    expect(await two.metric('muster_controller_leader_known')).toBe('1');
    expect((await store.get(KEYS.leader()))?.value).toContain('one');
  });

  test('a controller knows of no leader while the store does not tell it', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    await using one = new Candidate(store, clock, 'one');
    await until(() => one.working === 1);
    const moody = faultyStore(store);
    await using two = new Candidate(moody, clock, 'two');
    const untilKnown = (known: string): Promise<void> =>
      until(async () => {
        clock.advance(1000);
        return (await two.metric('muster_controller_leader_known')) === known;
      });
    await untilKnown('1');
    for (const operation of ['get', 'hold'] as const) moody.down.add(operation);
    await untilKnown('0');
    moody.down.clear();
    await untilKnown('1');
    expect(two.terms).toHaveLength(0);
  });

  test('a controller holds no leadership while its replica is not on the registry, and leads once it is', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const moody = faultyStore(store);
    await using one = new Candidate(moody, clock, 'one', null);
    for (let check = 0; check < 3; check += 1) {
      await until(() => clock.sleeping + one.working > 0);
      clock.advance(1000);
    }
    await until(() => clock.sleeping + one.working > 0);
    expect([one.terms.length, moody.calls.hold]).toEqual([0, 0]);
    expect(await one.metric('muster_controller_leader_known')).toBe('0');
    one.registration = { lost: NEVER };
    await passUntil(clock, () => one.working === 1);
    expect((await store.get(KEYS.leader()))?.value).toContain('one');
  });

  test('a leader that stops is followed at the next check of the other controller', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const one = new Candidate(store, clock, 'one');
    await until(() => one.working === 1);
    await using two = new Candidate(store, clock, 'two');
    await until(() => clock.sleeping > 0);
    await one[Symbol.asyncDispose]();
    expect(await store.get(KEYS.leader())).toBeUndefined();
    await passUntil(clock, () => two.working === 1);
    expect(await one.metric('muster_controller_terms_total{why="stopped"}')).toBe('1');
    expect(await one.metric('muster_controller_leader_known')).toBe('0');
  });

  test('a former leader cannot write, and the current one can', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    await using one = new Candidate(store, clock, 'one');
    await until(() => one.working === 1);
    expect(await write(store, one.term, 'while-it-led')).toMatchObject({ outcome: 'committed' });
    await removeLeader(store);
    const before = one.term;
    expect(await write(store, before, 'with-nobody-leading')).toEqual({ outcome: 'conflict' });
    const other = await store.hold(KEYS.leader(), '{}', 5000);
    if (other === 'taken') throw new Error('the key was free');
    expect(await write(store, before, 'with-another-leading')).toEqual({ outcome: 'conflict' });
    const now: Term = { fence: [expectRevision(KEYS.leader(), other.revision)], signal: before.signal };
    expect(await write(store, now, 'by-the-other')).toMatchObject({ outcome: 'committed' });
    await other.release();
  });

  test('an election that the store fails is tried again', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const moody = faultyStore(store);
    moody.down.add('hold');
    await using one = new Candidate(moody, clock, 'one');
    await until(() => clock.sleeping > 0);
    expect(one.terms).toHaveLength(0);
    expect(await one.metric('muster_controller_leader_known')).toBe('0');
    moody.down.delete('hold');
    await passUntil(clock, () => one.working === 1);
  });
});

/** The first holder of a key there loses it on command; the tests of the stores cover real losses. */
function losingStore(store: Store): { store: Store; lose: () => void } {
  const losing = new AbortController();
  let held: Held | 'taken' | undefined;
  const hold: Store['hold'] = async (...request) => {
    const next = await store.hold(...request);
    if (held !== undefined || next === 'taken') return next;
    held = next;
    return {
      revision: next.revision,
      lost: AbortSignal.any([next.lost, losing.signal]),
      rewrite: (value) => next.rewrite(value),
      release: () => next.release(),
    };
  };
  return { store: wrappedStore(store, { hold }), lose: () => losing.abort() };
}

onEachStore('a term that is lost', (stores) => {
  test('ends its work, and the next term begins it anew', async () => {
    await using opened = await stores.open();
    const { store, lose } = losingStore(opened);
    const clock = new FakeClock();
    await using one = new Candidate(store, clock, 'one');
    await until(() => one.working === 1);
    lose();
    await until(() => one.working === 0);
    await passUntil(clock, () => one.terms.length === 2);
    expect(one.terms[1]?.fence).not.toEqual(one.terms[0]?.fence);
    expect(one.working).toBe(1);
    expect(await one.metric('muster_controller_terms_total{why="lost"}')).toBe('1');
  });

  test('a replica that loses its place on the registry leads no longer, and another one follows', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const losing = new AbortController();
    await using one = new Candidate(store, clock, 'one', losing.signal);
    await until(() => one.working === 1);
    await using two = new Candidate(store, clock, 'two');
    await until(() => clock.sleeping > 0);
    one.registration = undefined;
    losing.abort();
    await until(() => one.working === 0);
    await passUntil(clock, () => two.working === 1);
    expect(one.terms).toHaveLength(1);
    expect(await one.metric('muster_controller_terms_total{why="lost"}')).toBe('1');
    expect((await store.get(KEYS.leader()))?.value).toContain('two');
  });
});
