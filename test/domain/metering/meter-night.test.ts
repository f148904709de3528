import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createAccounts, type Accounts } from '../../../src/domain/accounts/accounts.ts';
import { createApiKeys, type ApiKeys } from '../../../src/domain/accounts/api-keys.ts';
import { createApps, type Apps } from '../../../src/domain/apps/apps.ts';
import type { Caller } from '../../../src/domain/apps/own-app.ts';
import { systemRandom } from '../../../src/domain/credentials/random-ids.ts';
import { tokenHash } from '../../../src/domain/credentials/tokens.ts';
import { enroll, type EnrollmentDeps } from '../../../src/domain/devices/enrollment.ts';
import { createEnvelope } from '../../../src/domain/keys/envelope.ts';
import { parseKeyRing } from '../../../src/domain/keys/key-ring.ts';
import { countNight, type ChangedSince } from '../../../src/domain/metering/count-active.ts';
import { createAccountQueues } from '../../../src/domain/mutation/account-queue.ts';
import type { Authority } from '../../../src/domain/mutation/authority.ts';
import { createBatchAnswers } from '../../../src/domain/apps/batch-answers.ts';
import { createIdempotencyRecords } from '../../../src/domain/mutation/idempotency.ts';
import { createOperatorCreates } from '../../../src/domain/mutation/operator-creates.ts';
import type { Origin } from '../../../src/domain/mutation/step.ts';
import { dayAfter } from '../../../src/domain/status-history/day-record.ts';
import { createQuotas } from '../../../src/domain/quota/quotas.ts';
import { createMetrics } from '../../../src/metrics/service-metrics.ts';
import type { Store } from '../../../src/store/port.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { dayAt, startOfDay } from '../../../src/time/utc-days.ts';
import {
  countsOf,
  digestOf,
  HOUR_MS,
  midnightAfter,
  MINUTE_MS,
  replicaOn,
  type Replica,
} from '../../support/metering/metering.ts';
import { runs } from '../../support/run/effort.ts';
import { KEY_FILE_TEXT } from '../../support/service/muster.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

/** `printf 'a\\nb\\nc' | sha256sum`, and of nothing. */
const ABC = 'ea7fb08b7a2dc4619ffb7c7bb38d95a2047935fa165d71b12efd3852a2e6d0cc';
const NONE = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

describe('a night of one account', () => {
  const now = { accountId: 'a', disabled: false, active: ['b', 'a', 'c'] };
  const changed = (
    before: [string, 'none' | 'pending' | 'active' | 'revoked'][],
    disabled?: boolean,
  ): ChangedSince => ({
    disabled,
    before: new Map(before),
  });

  test.each<[string, typeof now, ChangedSince | undefined, string[]]>([
    ['nothing has changed since', now, undefined, ['a', 'b', 'c']],
    ['one was activated since', now, changed([['b', 'pending']]), ['a', 'c']],
    ['one came back since', now, changed([['b', 'revoked']]), ['a', 'c']],
    ['one was revoked or deleted since', now, changed([['x', 'active']]), ['a', 'b', 'c', 'x']],
    ['one that was revoked was deleted since', now, changed([['x', 'revoked']]), ['a', 'b', 'c']],
    ['one was revoked and came back since', now, changed([['a', 'active']]), ['a', 'b', 'c']],
    ['the account is disabled', { ...now, disabled: true }, undefined, []],
    ['it was disabled since', { ...now, disabled: true }, changed([], false), ['a', 'b', 'c']],
    ['it was enabled since', now, changed([], true), []],
    ['it has no apps', { ...now, active: [] }, undefined, []],
  ])('%s', (_what, state, since, expected) => {
    expect(countNight(state, since)).toEqual({ activeDaemons: expected.length, digest: digestOf(expected) });
  });

  test('the digest is SHA-256 over the sorted ids, one a line; of none it is that of the empty text', () => {
    expect(countNight({ ...now, active: [] }, undefined).digest).toBe(NONE);
    expect(countNight(now, undefined).digest).toBe(ABC);
  });
});

/** A fleet of one account, driven by the operations of the domain, and the plain list of what happened to it. */
class World implements AsyncDisposable {
  readonly clock: FakeClock;
  readonly firstDay: string;
  readonly #store: Store;
  readonly #replica: Replica;
  readonly #accounts: Accounts;
  readonly #apiKeys: ApiKeys;
  readonly #apps: Apps;
  readonly #enrollment: EnrollmentDeps;
  #accountId = '';
  #authority: Authority = { keyId: '', secret: '', use: 'full', client: '127.0.0.1' };
  readonly #slots: ({ id: string; code: string } | undefined)[] = [];
  readonly #happened: { at: number; what: string; after: string }[] = [];

  private constructor(store: Store, replica: Replica, clock: FakeClock) {
    this.clock = clock;
    this.firstDay = dayAt(clock.now());
    this.#store = store;
    this.#replica = replica;
    const { log, fleet, clockWatch } = replica.deps;
    const metrics = createMetrics('test');
    const random = systemRandom();
    const deps = {
      store,
      fleet,
      clock,
      clockWatch,
      log,
      random,
      metrics,
      quotas: createQuotas({ fleet, clock, accountQuotaMb: 0 }),
    };
    const envelope = createEnvelope(parseKeyRing(KEY_FILE_TEXT), random);
    const idempotency = createIdempotencyRecords(store, envelope);
    const operatorCreates = createOperatorCreates({ ...deps, envelope });
    this.#accounts = createAccounts({ ...deps, operatorCreates });
    this.#apiKeys = createApiKeys({
      ...deps,
      operatorCreates,
      keyUses: { usesAndCalls: async () => new Map() },
    });
    const batchAnswers = createBatchAnswers(store, idempotency);
    this.#apps = createApps({
      ...deps,
      queues: createAccountQueues(deps),
      idempotency,
      keyAnswers: idempotency,
      batchAnswers,
    });
    this.#enrollment = deps;
  }

  static async start(): Promise<World> {
    const clock = new FakeClock(Date.UTC(2028, 1, 27, 12));
    const store = await openSqliteStore(':memory:');
    const world = new World(store, await replicaOn(store, clock), clock);
    const account = await world.#accounts.create(world.#origin(), { name: 'a', entitlement: 'standard' });
    world.#accountId = account.accountId;
    const { keyId, apiKey } = await world.#apiKeys.create(world.#origin(), account.accountId, { name: '' });
    world.#authority = { keyId, secret: tokenHash(apiKey.reveal()), use: 'full', client: '127.0.0.1' };
    return world;
  }

  #origin(): Origin {
    return { actor: 'test', requestId: 'test', at: this.clock.now(), deadline: this.clock.monotonic() + 1900 };
  }

  async #caller(): Promise<Caller> {
    const reader = await this.#replica.deps.fleet.current();
    return { accountId: this.#accountId, authority: this.#authority, reader, origin: this.#origin() };
  }

  #note(what: string, after: string): void {
    this.#happened.push({ at: this.clock.now(), what, after });
  }

  get #disabled(): boolean {
    return this.#happened.findLast(({ what }) => what === 'account')?.after === 'disabled';
  }

  async #enable(enabled: boolean): Promise<void> {
    if (this.#disabled !== enabled) return;
    await this.#accounts.change(this.#origin(), this.#accountId, { disabled: !enabled });
    this.#note('account', enabled ? 'enabled' : 'disabled');
  }

  async act(what: Action, slot: number): Promise<void> {
    if (what === 'disable' || what === 'enable') return await this.#enable(what === 'enable');
    // An API key of a disabled account is refused.
    if (this.#disabled) return;
    const app = this.#slots[slot];
    if (what === 'enroll') return await this.#enroll(slot);
    if (!app) return;
    if (what === 'revoke') {
      await this.#apps.revoke(await this.#caller(), app.id);
      this.#note(app.id, 'revoked');
    } else {
      await this.#apps.remove(await this.#caller(), app.id);
      this.#note(app.id, 'none');
      this.#slots[slot] = undefined;
    }
  }

  /** Makes the app, or issues another code for it: its daemon begins, swaps its credential, or comes back. */
  async #enroll(slot: number): Promise<void> {
    let app = this.#slots[slot];
    if (app) {
      const { enrollCode } = await this.#apps.issueCode(await this.#caller(), app.id);
      app = { id: app.id, code: enrollCode.reveal() };
    } else {
      const created = await this.#apps.create(await this.#caller(), '');
      app = { id: created.appId, code: created.enrollCode.reveal() };
    }
    this.#slots[slot] = app;
    const request = {
      platform: '',
      agentVersion: '',
      connection: 'cloud',
      credentialHash: undefined,
      proved: false,
    } as const;
    await enroll(this.#enrollment, { ...request, appId: app.id, enrollCode: app.code }, this.#origin());
    this.#note(app.id, 'active');
  }

  async meter(): Promise<void> {
    await this.#replica.meter();
  }

  counts(): Promise<Record<string, string>> {
    return countsOf(this.#store);
  }

  /** Every night that is due, by going through all that happened up to its midnight. */
  expected(): Record<string, string> {
    const expected: Record<string, string> = {};
    const end = this.clock.now() - 5 * MINUTE_MS;
    for (let day = this.firstDay; startOfDay(dayAfter(day)) <= end; day = dayAfter(day)) {
      const then = new Map<string, string>();
      for (const { at, what, after } of this.#happened) if (at < startOfDay(dayAfter(day))) then.set(what, after);
      const active = [...then].filter(([, after]) => after === 'active').map(([id]) => id);
      const counted = then.get('account') === 'disabled' ? [] : active;
      expected[`${this.#accountId} ${day}`] = `${counted.length} ${digestOf(counted)}`;
    }
    return expected;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#replica[Symbol.asyncDispose]();
    await this.#store[Symbol.asyncDispose]();
  }
}

type Action = 'enroll' | 'revoke' | 'remove' | 'disable' | 'enable';

const action = fc.record({
  kind: fc.constant('act' as const),
  what: fc.constantFrom<Action>('enroll', 'enroll', 'enroll', 'revoke', 'remove', 'disable', 'enable', 'enable'),
  slot: fc.nat(3),
});
const passing = fc.record({
  kind: fc.constant('pass' as const),
  ms: fc.oneof(
    fc.constantFrom(1, MINUTE_MS, 5 * MINUTE_MS, 3 * 24 * HOUR_MS),
    fc.nat(30 * HOUR_MS),
    fc.constantFrom('to midnight' as const, 'to before midnight' as const),
  ),
});
const metering = fc.record({ kind: fc.constant('meter' as const) });

test('whatever happens, and whenever it is metered: every night is what a list of all that happened says', async () => {
  const step = fc.oneof({ arbitrary: action, weight: 6 }, { arbitrary: passing, weight: 4 }, metering);
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      await using world = await World.start();
      for (const one of steps) {
        if (one.kind === 'act') await world.act(one.what, one.slot);
        else if (one.kind === 'meter') await world.meter();
        else if (typeof one.ms === 'number') world.clock.advance(one.ms);
        else {
          const left = midnightAfter(world.clock.now()) - world.clock.now();
          world.clock.advance(Math.max(0, one.ms === 'to midnight' ? left : left - 1));
        }
      }
      world.clock.advance(24 * HOUR_MS);
      await world.meter();
      expect(await world.counts()).toEqual(world.expected());
    }),
    { numRuns: runs(20) },
  );
});
