import { SerialByKey } from '../../concurrency/serial-by-key.ts';
import type { Secret } from '../credentials/secret.ts';
import type { FleetReader } from '../fleet/reader.ts';
import type { Envelope } from '../keys/envelope.ts';
import { Busy } from '../refusal.ts';
import { refuseLate } from './commit.ts';
import { createIdempotencyRecords, nextInRing, type IdempotencyKey } from './idempotency.ts';
import { mutate } from './mutation.ts';
import { requestFields, withParts, type MutationDeps, type Origin, type Plan, type Step } from './step.ts';

/*
 * H19 for what the operator creates. All tokens of the operator are one caller, so that a create may be repeated while
 * tokens are changed. The records have rings of their own: no owner pushes the operator's out, and an account that is
 * being created has no counters yet. Every create of a ring writes the ring, so those of one process go one by one.
 */

/** A create: how it is planned, and how its answer is kept. */
interface Creation<T> {
  /** The ring of its idempotency records: an account's id, or any text without a slash that is none. */
  readonly scope: string;
  /** Decides the create; called again after a conflict (`Plan`). */
  plan(reader: FleetReader): Promise<Step<T>>;
  /** Spells the answer as it is kept, encrypted. */
  spell(result: T): Secret;
  /** Reads what `spell` spelled, perhaps that of another version. */
  read(kept: string): T;
}

/** The created thing, made now or before. */
export type Created<T> = T & {
  /** The answer was given before, for the same Idempotency-Key. */
  readonly replayed: boolean;
};

/**
 * Carries out a create of the operator's; with an Idempotency-Key once in 24 hours, however often it is asked for.
 * @throws Refusal from the plan, `invalid_request` where the key was used with another content; StoreUnavailable, Busy;
 * BadRecord
 */
export type OperatorCreates = <T extends object>(
  origin: Origin,
  creation: Creation<T>,
  asked?: IdempotencyKey,
) => Promise<Created<T>>;

/** Creates of one ring that wait for their turn in this process. */
const WAITING_MAX = 500;

/** Creates the operator's creates of this process; see `OperatorCreates`. */
export function createOperatorCreates(deps: MutationDeps & { readonly envelope: Envelope }): OperatorCreates {
  const { store, envelope } = deps;
  const records = createIdempotencyRecords(store, envelope, {
    code: 'invalid_request',
    says: 'This Idempotency-Key was used with another content; use a new key.',
  });
  const inTurn = new SerialByKey(WAITING_MAX);

  function once<T extends object>(origin: Origin, creation: Creation<T>, asked: IdempotencyKey): Plan<Created<T>> {
    const { scope } = creation;
    return async (reader) => {
      const found = await records.find(scope, asked, origin.at, reader);
      if ('answer' in found) {
        const { actor, client } = origin;
        // No audit has it, since nothing is changed; yet a secret may be told once more.
        deps.log.info({ actor, ...requestFields(origin), client, scope }, 'a create was answered again');
        return { unchanged: { ...creation.read(found.answer), replayed: true } };
      }
      const step = await creation.plan(reader);
      const ring = await nextInRing(store, scope);
      const recorded = await found.record(ring.number, creation.spell(step.result));
      return { ...withParts(step, recorded, ring), result: { ...step.result, replayed: false } };
    };
  }

  return async (origin, creation, asked) => {
    if (asked) {
      const created = inTurn.tryRun(creation.scope, async () => {
        // It was answered while it waited: not even memory is asked for it.
        refuseLate(deps, origin);
        return await mutate(deps, origin, once(origin, creation, asked));
      });
      if (!created) throw new Busy('queue_full', 'Too many creates with an Idempotency-Key wait for their turn.');
      return await created;
    }
    return await mutate(deps, origin, async (reader) => {
      const step = await creation.plan(reader);
      return { ...step, result: { ...step.result, replayed: false } };
    });
  };
}
