import type { FleetReader } from '../fleet/reader.ts';
import type { CountersStep } from '../mutation/account-queue.ts';
import { authorisedBy, type Authorised } from '../mutation/authority.ts';
import { CommitRoom } from '../mutation/commit-room.ts';
import type { IdempotencyKey } from '../mutation/idempotency.ts';
import { isUnchanged, withParts, type Step, type Unchanged } from '../mutation/step.ts';
import type { CountersRecord } from '../records/account-records.ts';
import { BadRecord } from '../records/codec.ts';
import { Refusal } from '../refusal.ts';
import type { ChangedApp } from './batch-answers.ts';
import type { AppChange, AppOutcome, BatchItem } from './batch-items.ts';
import { creationStep } from './create-app.ts';
import { deletionStep, withoutApp, type Leftovers } from './delete-app.ts';
import { codeStep } from './issue-code.ts';
import type { AppsDeps, Caller } from './own-app.ts';
import { revocationStep } from './revoke-app.ts';

/** The items of a batch that have no outcome yet. */
export interface PartRequest {
  readonly change: AppChange;
  readonly left: readonly BatchItem[];
  readonly asked: IdempotencyKey | undefined;
}

/** A part of a batch: the items that one commit settles. */
export interface Part {
  readonly outcomes: ReadonlyMap<string, AppOutcome>;
  /** Of each app that it deletes. */
  readonly leftovers: ReadonlyMap<string, Leftovers>;
}

/** The items that one attempt reads together: hardly more than a commit has room for. */
const READ_TOGETHER: Readonly<Record<AppChange, number>> = { create: 60, 'issue-code': 60, revoke: 40, delete: 12 };

/** Operations that a commit has beside the steps: those of the guard, the counters and the kept answer. */
const OTHER_OPERATIONS = 16;

interface PartRead {
  readonly reader: FleetReader;
  readonly counters: CountersRecord;
}

type ItemStep = Step<Leftovers | void>;

/**
 * Plans the next part of a batch, which settles one item or more.
 * @throws Refusal `limit_reached` where the account has no place for the first of them, and as `authorisedBy`;
 * StoreUnavailable
 */
export async function planPart(
  deps: AppsDeps,
  caller: Caller,
  read: PartRead,
  { change, left, asked }: PartRequest,
): Promise<CountersStep<Part> | Unchanged<Part>> {
  const { accountId, origin } = caller;
  const authorised = await authorisedBy(read.reader, accountId, caller.authority);
  // A revocation is not kept: its repetition revokes an app that was enrolled again meanwhile (A12).
  const isKept = asked !== undefined && change !== 'revoke';
  const kept = isKept ? await deps.batchAnswers.find(accountId, asked, origin.at, read.reader) : undefined;
  const outcomes = new Map<string, AppOutcome>();
  const open: BatchItem[] = [];
  for (const item of left) {
    const before = kept?.done.get(item.key);
    if (before) outcomes.set(item.key, { ...before, replayed: true });
    else open.push(item);
  }
  const packing = new Packing(deps, caller, { ...read, authorised }, outcomes);
  await packing.pack(change, open);
  const { steps, counters, done, leftovers } = packing;
  const part: Part = { outcomes, leftovers };
  const last = steps.at(-1);
  if (!last) return { unchanged: part };
  const step = withParts(last, await kept?.keep(done));
  return { ...step, first: steps.slice(0, -1), counters, result: part };
}

/** The steps of as many items as one commit has room for. */
class Packing {
  readonly steps: ItemStep[] = [];
  readonly done = new Map<string, ChangedApp>();
  readonly leftovers = new Map<string, Leftovers>();
  counters: CountersRecord;
  readonly #room = new CommitRoom(OTHER_OPERATIONS);
  readonly #deps: AppsDeps;
  readonly #caller: Caller;
  readonly #read: PartRead & { readonly authorised: Authorised };
  readonly #outcomes: Map<string, AppOutcome>;

  constructor(
    deps: AppsDeps,
    caller: Caller,
    read: PartRead & { readonly authorised: Authorised },
    outcomes: Map<string, AppOutcome>,
  ) {
    this.#deps = deps;
    this.#caller = caller;
    this.#read = read;
    this.#outcomes = outcomes;
    this.counters = read.counters;
  }

  /** @throws Refusal `limit_reached` where nothing of this part has an outcome; StoreUnavailable */
  async pack(change: AppChange, open: readonly BatchItem[]): Promise<void> {
    const items = open.slice(0, READ_TOGETHER[change]);
    if (change === 'create') return await this.#create(items);
    const planned = await Promise.all(items.map((item) => this.#plannedOrRefused(change, item)));
    for (const [index, item] of items.entries()) {
      const step = planned[index];
      if (typeof step === 'string') this.#outcomes.set(item.key, { error: step });
      else if (!step || isUnchanged(step)) this.#outcomes.set(item.key, { ...item.changed, replayed: false });
      else if (!this.#take(item, step)) return;
      else if (change === 'delete') this.counters = withoutApp(this.counters);
    }
  }

  /** Each takes a place of the account, upon the counters that the one before leaves. */
  async #create(items: readonly BatchItem[]): Promise<void> {
    for (const { key, name, changed, code } of items) {
      try {
        const read = { ...this.#read, counters: this.counters };
        const app = { appId: changed.appId, name, ...(code && { code }) };
        const { counters, ...step } = await creationStep(this.#deps, this.#caller, read, app);
        if (!this.#take({ key, changed }, step)) return;
        this.counters = counters;
      } catch (error) {
        if (error instanceof Refusal && this.#outcomes.size > 0) return;
        throw error;
      }
    }
  }

  #take({ key, changed }: Pick<BatchItem, 'key' | 'changed'>, step: ItemStep): boolean {
    if (!this.#room.take([step])) return false;
    this.steps.push(step);
    this.done.set(key, changed);
    this.#outcomes.set(key, { ...changed, replayed: false });
    if (step.result !== undefined) this.leftovers.set(changed.appId, step.result);
    return true;
  }

  /** An app that is not there, or cannot be read, holds up no other one. */
  async #plannedOrRefused(
    change: Exclude<AppChange, 'create'>,
    item: BatchItem,
  ): Promise<ItemStep | Unchanged<void> | 'not_found' | 'upstream_unavailable'> {
    const { appId } = item.changed;
    try {
      return await this.#planned(change, item);
    } catch (error) {
      if (error instanceof Refusal && error.code === 'not_found') return 'not_found';
      if (!(error instanceof BadRecord)) throw error;
      this.#deps.log.error({ err: error, accountId: this.#caller.accountId, appId }, 'an app of a batch is unreadable');
      return 'upstream_unavailable';
    }
  }

  async #planned(
    change: Exclude<AppChange, 'create'>,
    { changed: { appId }, code }: BatchItem,
  ): Promise<ItemStep | Unchanged<void>> {
    const { reader } = this.#read;
    if (change === 'revoke') return await revocationStep(this.#deps, this.#caller, reader, appId);
    if (change === 'delete') return await deletionStep(this.#deps, this.#caller, reader, appId);
    if (!code) throw new Error('a code is issued without one');
    return await codeStep(this.#caller, reader, appId, code);
  }
}
