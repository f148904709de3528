import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { removeOrphanedRevisions } from '../../../src/domain/otel-config/orphaned-revisions.ts';
import { keptRevisions } from '../../../src/domain/otel-config/revisions.ts';
import { LIMITS } from '../../../src/domain/limits.ts';
import type { Origin } from '../../../src/domain/mutation/step.ts';
import { parseRecord, put } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { OtelRecord } from '../../../src/domain/records/otel-records.ts';
import { systemRandom } from '../../../src/domain/credentials/random-ids.ts';
import { createLog } from '../../../src/log.ts';
import { expectAbsent, expectUnchanged } from '../../../src/store/port.ts';
import { runs } from '../../support/run/effort.ts';
import { openedCore, type OpenedCore } from '../../support/service/opened-core.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { rawPut } from '../../support/store/raw-key.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

/* What is kept of a configuration, whichever replicas change it: some are of a version that keeps no revisions. */

let accounts = 0;

/** The configuration of an account of its own, as owners and replicas of an earlier version change it. */
async function configuration({ core, domain }: OpenedCore) {
  const { store, fleet } = core;
  const accountId = String((accounts += 1)).padStart(16, 'a');
  const record = { name: '', entitlement: 'enterprise', disabled: false, createdAt: 1 } as const;
  const key = KEYS.account(accountId);
  await store.commit({ expect: [expectAbsent(key)], write: [put(key, record)] });
  let number = 0;

  const caller = async () => {
    const origin: Origin = { actor: 'operator', requestId: 'r', at: 1, deadline: core.clock.monotonic() + 60_000 };
    return { accountId, authority: { guarded: true }, reader: await fleet.current(), origin } as const;
  };
  const current = async () => {
    const entry = await store.get(KEYS.otel(accountId));
    return entry && parseRecord(KEYS.otel, entry);
  };
  const endpoint = (): string => `https://${(number += 1)}.example.com`;

  /** As a replica of an earlier version does: it keeps the fields of a configuration that it does not know. */
  async function older(change: (record: OtelRecord | undefined) => OtelRecord['config']): Promise<void> {
    const before = await current();
    const revision = (before?.record.revision ?? 0) + 1;
    const next = { revision, tag: String(revision), at: 1, config: change(before?.record) };
    const expected = before ? expectUnchanged(before) : expectAbsent(KEYS.otel(accountId));
    await store.commit({ expect: [expected], write: [rawPut(KEYS.otel(accountId), next)] });
  }
  return {
    accountId,
    async store(): Promise<void> {
      const change = { enabled: true, endpoint: endpoint(), authHeader: undefined, evidenceLevel: 'hashes' } as const;
      await domain.otelConfigs.store(await caller(), change);
    },
    purge: async () => await domain.otelConfigs.purge(await caller()),
    olderStore: async () =>
      await older((record) => ({
        ...record?.config,
        enabled: true,
        endpoint: endpoint(),
        evidenceLevel: 'hashes',
      })),
    olderPurge: async () => await older(() => undefined),
    listed: async () =>
      (await keptRevisions(store, accountId, (await current())?.record)).map(({ revision }) => revision),
    stored: async () =>
      (await store.list({ prefix: KEYS.otelRevision.under(accountId), limit: 1000, keysOnly: true })).entries.length,
    async sweep(): Promise<number> {
      // Memory is as new as the store then; it may be behind otherwise, and the next pass does the rest.
      await fleet.current();
      const deps = {
        store,
        memory: fleet.memory,
        clock: new FakeClock(),
        random: systemRandom(),
        log: createLog('silent'),
        auditRetentionDays: 10,
        fence: [],
      };
      const { gone } = await removeOrphanedRevisions(deps, undefined, new AbortController().signal);
      return gone;
    },
  };
}

/** What is kept of an account's configuration, by the rules alone. */
class Model {
  revision = 0;
  configured = false;
  /** Whether the revisions that are kept belong to the configuration that is stored. */
  keeps = false;
  kept: number[] = [];

  store(): void {
    this.revision += 1;
    const slot = this.revision % LIMITS.otelRevisionsMax;
    const others = this.keeps ? this.kept.filter((one) => one % LIMITS.otelRevisionsMax !== slot) : [];
    this.kept = [this.revision, ...others];
    this.configured = this.keeps = true;
  }
  purge(): void {
    if (this.configured) this.revision += 1;
    this.kept = [];
    this.configured = this.keeps = false;
  }
  olderStore(): void {
    this.revision += 1;
    this.configured = true;
  }
  olderPurge(): void {
    this.revision += 1;
    this.kept = [];
    this.configured = this.keeps = false;
  }
}

onEachBackend('the revisions that are kept', (backend) => {
  let it: OpenedCore;
  beforeAll(async () => {
    it = await openedCore(backend);
  });
  afterAll(() => it[Symbol.asyncDispose]());

  test('are the last fifty since the purge, whichever replicas change the configuration, and never more', async () => {
    const step = fc.record({
      act: fc.constantFrom('store', 'store', 'store', 'purge', 'olderStore', 'olderPurge'),
      times: fc.constantFrom(1, 1, 2, 49, 50),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 7 }), async (steps) => {
        const [real, model] = [await configuration(it), new Model()];
        for (const { act, times } of steps) {
          for (let time = 1; time <= (act.endsWith('urge') ? 1 : times); time += 1) {
            await real[act]();
            model[act]();
          }
          expect(await real.listed()).toEqual(model.kept);
          expect(await real.stored()).toBeLessThanOrEqual(LIMITS.otelRevisionsMax);
        }
      }),
      { numRuns: runs(5) },
    );
  });

  test('without another version are the last fifty without a gap, of which none is left by a purge', async () => {
    const real = await configuration(it);
    for (let revision = 1; revision <= 120; revision += 1) await real.store();
    expect(await real.listed()).toEqual(Array.from({ length: 50 }, (_, index) => 120 - index));
    await real.purge();
    expect(await real.stored()).toBe(0);
  });

  describe('that a purge by a replica of an earlier version has left', () => {
    test('are shown no more, and go with the next revision', async () => {
      const real = await configuration(it);
      for (let revision = 1; revision <= 3; revision += 1) await real.store();
      await real.olderPurge();
      expect([await real.listed(), await real.stored()]).toEqual([[], 3]);
      await real.olderStore();
      expect(await real.listed()).toEqual([]);
      await real.store();
      expect([await real.listed(), await real.stored()]).toEqual([[6], 1]);
    });

    test('go with the next pass of the clean-up, and those of other accounts stay', async () => {
      const [left, other] = [await configuration(it), await configuration(it)];
      for (const one of [left, other]) for (let revision = 1; revision <= 3; revision += 1) await one.store();
      // Those of other tests go first.
      await left.sweep();
      await left.olderPurge();
      expect(await left.sweep()).toBe(3);
      expect([await left.stored(), await other.stored()]).toEqual([0, 3]);
      expect(await left.sweep()).toBe(0);
    });
  });
});
