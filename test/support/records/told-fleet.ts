import { rolloutReconciler, transitionsReconciler } from '../../../src/controller/rollout.ts';
import { systemRandom } from '../../../src/domain/credentials/random-ids.ts';
import { FleetMemory } from '../../../src/domain/fleet/memory.ts';
import type { AccountRecord, ApiKeyRecord, StoredRecord } from '../../../src/domain/records/account-records.ts';
import type { AckRecord, AppRecord } from '../../../src/domain/records/app-records.ts';
import type { AuditRecord } from '../../../src/domain/records/audit-records.ts';
import { put } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { OtelRecord } from '../../../src/domain/records/otel-records.ts';
import { createTransitions } from '../../../src/domain/transitions/transitions.ts';
import { createMetrics } from '../../../src/metrics/service-metrics.ts';
import { expectAbsent, type Expectation, type Put, type Store } from '../../../src/store/port.ts';
import type { FakeClock } from '../time/fake-clock.ts';
import { rawKey } from '../store/raw-key.ts';

const POLL_SECONDS = 60;
export const STALE_MS = 3 * POLL_SECONDS * 1000;

const CONFIG = { enabled: true, endpoint: 'https://a.example', evidenceLevel: 'hashes' } as const;

/** An entry of the audit, as far as a transition has it. */
export type ToldEntry = readonly [action: string, appId: string | undefined, detail: AuditRecord['detail']];

/** The calls of the store that these loops make. */
export type LeaderStore = Pick<Store, 'get' | 'list' | 'commit'>;

/** What a leader of these tests may do, and what its replica knows. */
interface LeaderFacts {
  readonly store?: LeaderStore;
  readonly fence?: readonly Expectation[];
  /** Its replica has been listening for so long. */
  readonly heardMs?: number;
  readonly isTrusted?: boolean;
}

/** A fleet in a memory, as a watch would fill it, with the acknowledgements in a store. */
export class ToldFleet {
  readonly store: Store;
  readonly clock: FakeClock;
  readonly memory = new FleetMemory({
    onUnreadable: (error) => {
      throw error;
    },
  });

  constructor(store: Store, clock: FakeClock) {
    this.store = store;
    this.clock = clock;
    this.memory.settled();
  }

  remember(...records: readonly Put[]): void {
    for (const { put: key, value } of records) this.memory.put({ key: rawKey(key), value, revision: 1 });
  }

  account(id: string, more: Partial<AccountRecord> = {}): void {
    this.remember(
      put(KEYS.account(id), { name: '', entitlement: 'enterprise', disabled: false, createdAt: 0, ...more }),
    );
  }

  /** Puts an active app that has just made a contact. Its slot is the number that its name ends with. */
  app(accountId: string, id: string, more: Partial<AppRecord> = {}): void {
    const slot = Number(/\d+$/.exec(id)?.[0]);
    const record = { name: `name of ${id}`, status: 'active', statusAt: 0, createdAt: 0, slot, platform: '' } as const;
    const enrolled = {
      agentVersion: '',
      connection: 'cloud',
      enrolledAt: this.clock.now(),
      codes: [],
      spent: [],
    } as const;
    this.remember(put(KEYS.app(accountId, id), { ...record, ...enrolled, ...more }));
  }

  removeApp(accountId: string, id: string): void {
    this.memory.remove(KEYS.app(accountId, id));
  }

  otel(accountId: string, revision: number, more: Partial<OtelRecord> = {}): void {
    const record = { revision, tag: 'tag', at: this.clock.now(), config: CONFIG, ...more };
    this.remember(put(KEYS.otel(accountId), record));
  }

  key(accountId: string, keyId: string, expiresAt: number | undefined): void {
    const expiring = expiresAt === undefined ? {} : { expiring: { hash: 'h', expiresAt } };
    const record: ApiKeyRecord = { name: `name of ${keyId}`, hash: '', createdAt: 0, ...expiring };
    this.remember(put(KEYS.apiKey(accountId, keyId), record));
  }

  stored(accountId: string, bytes: number): void {
    const record: StoredRecord = { at: this.clock.now(), audit: bytes, records: 0, marks: [] };
    this.remember(put(KEYS.stored(accountId), record));
  }

  async ack(
    accountId: string,
    appId: string,
    revision: number,
    status: AckRecord['status'] = 'applied',
  ): Promise<void> {
    const write = [put(KEYS.ack(accountId, appId), { revision, status, at: this.clock.now() })];
    await this.store.commit({ expect: [expectAbsent('none')], write, quiet: true });
  }

  /** Notes that what is so now is no news: every later leader tells what comes. */
  async begin(): Promise<void> {
    await this.store.commit({
      expect: [expectAbsent(KEYS.telling())],
      write: [put(KEYS.telling(), { at: this.clock.now() })],
      quiet: true,
    });
  }

  /** The two loops of one term: `look` compares, `write` writes what was found, and `round` does both. */
  leader({ store = this.store, fence = [], heardMs = STALE_MS, isTrusted = true }: LeaderFacts = {}) {
    const { clock, memory } = this;
    const abort = new AbortController();
    const transitions = createTransitions(
      {
        store,
        clock,
        fleet: { memory },
        clockWatch: { trusted: () => isTrusted },
        random: systemRandom(),
        listening: { forMs: () => heardMs },
        staleAfterMs: STALE_MS,
        accountQuotaMb: 1,
      },
      fence,
    );
    const rollout = rolloutReconciler(
      {
        store,
        clock,
        transitions,
        fleet: { memory },
        fleetHistory: { due: () => undefined, counted: () => undefined },
        metrics: createMetrics('test'),
        accountRollouts: { counted: () => undefined },
        pollIntervalSeconds: POLL_SECONDS,
        metricsAccounts: false,
      },
      { signal: abort.signal },
    );
    const write = transitionsReconciler({ transitions });
    const leader = {
      look: async () => await rollout.reconcile(abort.signal),
      write: async () => await write.reconcile(abort.signal),
      async round(): Promise<void> {
        await leader.look();
        await leader.write();
      },
    };
    return leader;
  }

  /** The entries of an account in the order of the store, those of one commit by their action and app. */
  async entries(accountId: string): Promise<readonly ToldEntry[]> {
    const { entries } = await this.store.list({ prefix: KEYS.audit.under(accountId), limit: 1000 });
    const told = entries.map(({ revision, value }) => {
      const { action, appId, detail, actor } = KEYS.audit.schema.parse(JSON.parse(value));
      if (actor !== 'muster') throw new Error(`An entry is by ${actor}.`);
      return { revision, entry: [action, appId, detail] as const, text: JSON.stringify([action, appId, detail]) };
    });
    return told
      .toSorted((one, other) => one.revision - other.revision || (one.text < other.text ? -1 : 1))
      .map(({ entry }) => entry);
  }
}
