import * as z from 'zod';
import type { ChangeParts, Store } from '../../store/port.ts';
import { Secret } from '../credentials/secret.ts';
import type { FleetReader } from '../fleet/reader.ts';
import {
  nextInRing,
  type FoundAnswer,
  type IdempotencyKey,
  type IdempotencyRecords,
  type OtherContent,
} from '../mutation/idempotency.ts';
import { batchScope } from '../records/idempotency-records.ts';

/*
 * The kept answers to batches of apps (P15): one record a batch, which grows with each of its commits by the apps that
 * this commit changes. So a repetition finds those that were done, also where the process died in the middle, and does
 * the others. Refusals are not kept: they are judged anew.
 */

/** An app that a batch has changed. */
export interface ChangedApp {
  readonly appId: string;
  /** Of a creation and of an issue: the code, a secret, and when it ends to be valid. */
  readonly code?: { readonly text: Secret; readonly expiresAt: number };
}

/** The apps that the batch of an Idempotency-Key has changed before, by the keys of its items. */
interface KeptBatch {
  readonly done: ReadonlyMap<string, ChangedApp>;
  /** Makes the expectations and writes by which further ones join the commit of their change. */
  keep(further: ReadonlyMap<string, ChangedApp>): Promise<ChangeParts>;
}

/** The kept answers to batches of apps. */
export interface BatchAnswers {
  /**
   * @param at the instant of the request, in milliseconds since 1970
   * @throws Refusal `invalid_request` where the key was used with another batch; StoreUnavailable, BadRecord
   */
  find(accountId: string, asked: IdempotencyKey, at: number, reader: FleetReader): Promise<KeptBatch>;
}

/** The refusal of a key that was used with another batch. */
export const OTHER_BATCH: OtherContent = {
  code: 'invalid_request',
  says: 'This Idempotency-Key was used with another batch; use a new key.',
};

/**
 * Creates the kept answers of a store; see `BatchAnswers`.
 * @param records their records, which refuse with `OTHER_BATCH` and keep `LIMITS.batchesKeptPerAccountMax`
 */
export function createBatchAnswers(store: Store, records: IdempotencyRecords): BatchAnswers {
  return {
    async find(accountId, asked, at, reader) {
      const scope = batchScope(accountId);
      const found = await records.find(scope, asked, at, reader);
      if ('answer' in found) return keptIn(found);
      return {
        done: new Map(),
        async keep(further) {
          const ring = await nextInRing(store, scope);
          const { expect, write } = await found.record(ring.number, spelled(further));
          return { expect: [...expect, ...ring.expect], write: [...write, ...ring.write] };
        },
      };
    },
  };
}

function keptIn({ answer, replace }: FoundAnswer): KeptBatch {
  const done = read(answer);
  return { done, keep: (further) => replace(spelled(new Map([...done, ...further]))) };
}

const keptApps = z.array(z.tuple([z.string(), z.string(), z.string().optional(), z.number().optional()]));

const spelled = (apps: ReadonlyMap<string, ChangedApp>): Secret =>
  new Secret(
    JSON.stringify(
      Array.from(apps, ([key, { appId, code }]) => [key, appId, ...(code ? [code.text.reveal(), code.expiresAt] : [])]),
    ),
  );

function read(answer: string): ReadonlyMap<string, ChangedApp> {
  const apps = keptApps.parse(JSON.parse(answer));
  return new Map(
    apps.map(([key, appId, text, expiresAt]) => [
      key,
      { appId, ...(text !== undefined && { code: { text: new Secret(text), expiresAt: expiresAt ?? 0 } }) },
    ]),
  );
}
