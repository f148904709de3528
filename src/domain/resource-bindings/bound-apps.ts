import type { Store } from '../../store/port.ts';
import { codeExpiry, withCode, withoutCode } from '../apps/app-state.ts';
import { creationStep } from '../apps/create-app.ts';
import { ownApp, type Caller } from '../apps/own-app.ts';
import type { FleetReader } from '../fleet/reader.ts';
import type { AccountQueues, CountersPlan } from '../mutation/account-queue.ts';
import { authorisedBy } from '../mutation/authority.ts';
import { mutate } from '../mutation/mutation.ts';
import { StaleRead } from '../mutation/stale-read.ts';
import type { MutationDeps, Step, Unchanged } from '../mutation/step.ts';
import { put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { AppRecord, AppStatus } from '../records/app-records.ts';
import { Refusal } from '../refusal.ts';
import type { TransitionDeps } from '../status-history/status-change.ts';
import { adoptedBy, isAppOfAnother, isOfferedTo, resourceNameOf, wasAppOf, type Owner } from './adoption.ts';

/** A code that was generated before; its text is in a Secret of Kubernetes. */
interface GeneratedCode {
  /** `tokenHash` of the whole code. */
  readonly hash: string;
  /** The hash of the code before it, which this one voids because its text is lost. */
  readonly voids?: string | undefined;
}

/**
 * The operations on apps for custom resources, beside `Apps`. The caller's authority is a precondition: each
 * throws StaleRead where that does not hold, StoreUnavailable, and Busy.
 */
export interface BoundApps {
  /**
   * Creates an app under an id that was generated before, without a code.
   * @throws Refusal `limit_reached` (A10)
   */
  create(caller: Caller, appId: string, name: string): Promise<void>;
  /**
   * Registers a code by its hash. A repetition changes nothing, even if the code has been used or voided since.
   * @param status the status of the app when this was decided: a code would undo a revocation that came since
   * @returns when the code expires, in milliseconds since 1970
   * @throws Refusal `not_found`; StaleRead also where the app has another status
   */
  registerCode(caller: Caller, appId: string, code: GeneratedCode, status: AppStatus): Promise<number>;
  /** Voids a code. @throws Refusal `not_found` */
  voidCode(caller: Caller, appId: string, hash: string): Promise<void>;
  /**
   * Lets an app follow a resource from now on; its credential, its codes and its last contact stay.
   * @throws Refusal `not_found` where the account has no such app, or it is neither offered to this resource nor was
   * that of the resource that it replaces
   */
  adopt(caller: Caller, appId: string, owner: Owner): Promise<void>;
  /**
   * Ends the relation to a resource that is deleted. The app stays, and remembers the resource; one that follows
   * another resource keeps doing so.
   * @throws Refusal `not_found`
   */
  release(caller: Caller, appId: string, owner: Owner): Promise<void>;
}

interface BoundAppsDeps extends MutationDeps, TransitionDeps {
  readonly store: Store;
  readonly queues: AccountQueues;
}

/** Creates the operations on apps for custom resources; see `BoundApps`. */
export function createBoundApps(deps: BoundAppsDeps): BoundApps {
  return {
    create: (caller, appId, name) => create(deps, caller, appId, name),
    registerCode: (caller, appId, code, status) => registerCode(deps, caller, appId, code, status),
    voidCode: (caller, appId, hash) => voidCode(deps, caller, appId, hash),
    adopt: (caller, appId, owner) => adopt(deps, caller, appId, owner),
    release: (caller, appId, owner) => release(deps, caller, appId, owner),
  };
}

async function create(deps: BoundAppsDeps, caller: Caller, appId: string, name: string): Promise<void> {
  const { accountId, origin, authority } = caller;
  const plan: CountersPlan<void> = async (reader, counters) => {
    const authorised = await authorisedBy(reader, accountId, authority);
    return await creationStep(deps, caller, { reader, counters, authorised }, { appId, name });
  };
  await deps.queues(accountId, origin, plan, caller.reader);
}

async function registerCode(
  deps: MutationDeps,
  caller: Caller,
  appId: string,
  { hash, voids }: GeneratedCode,
  status: AppStatus,
): Promise<number> {
  const { accountId, origin } = caller;
  const code = { hash, issuedAt: origin.at };
  return await mutate<number>(
    deps,
    origin,
    async (reader): Promise<Step<number> | Unchanged<number>> => {
      const { app, expect, write } = await ownApp(caller, reader, appId);
      if (app.record.status !== status) throw new StaleRead(`The app ${appId} is ${app.record.status} by now.`);
      const open = app.record.codes.find((known) => known.hash === hash);
      if (open) return { unchanged: open.expiresAt };
      if (app.record.spent.some((known) => known.hash === hash)) return { unchanged: origin.at };
      return {
        accountId,
        action: 'code.issued',
        appId,
        expect,
        write: [put(KEYS.app(accountId, appId), withCode(former(app.record, voids), code)), ...write],
        result: codeExpiry(origin.at),
      };
    },
    caller.reader,
  );
}

const former = (app: AppRecord, voids: string | undefined): AppRecord =>
  voids === undefined ? app : withoutCode(app, voids);

/** One change of an app: its record from then on, and what the audit says of it. */
interface AppChange extends Pick<Step<void>, 'action' | 'detail'> {
  readonly record: AppRecord;
}

/** Commits one change of an app. @param change reads the record as it is @throws as `change` */
async function changeApp(
  deps: MutationDeps,
  caller: Caller,
  appId: string,
  change: (record: AppRecord) => AppChange,
): Promise<void> {
  const { accountId, origin } = caller;
  const plan = async (reader: FleetReader): Promise<Step<void>> => {
    const { app, expect, write } = await ownApp(caller, reader, appId);
    const { record, ...told } = change(app.record);
    return {
      accountId,
      appId,
      ...told,
      expect,
      write: [put(KEYS.app(accountId, appId), record), ...write],
      result: undefined,
    };
  };
  await mutate<void>(deps, origin, plan, caller.reader);
}

const voidCode = (deps: MutationDeps, caller: Caller, appId: string, hash: string): Promise<void> =>
  changeApp(deps, caller, appId, (record) => ({ action: 'code.voided', record: withoutCode(record, hash) }));

const adopt = (deps: BoundAppsDeps, caller: Caller, appId: string, offered: Owner): Promise<void> =>
  changeApp(deps, caller, appId, (record) => {
    const { uid, namespace, name } = offered;
    const owner = { uid, namespace, name };
    const again = wasAppOf(record, owner);
    if (!again && !isOfferedTo(record, offered, deps.clock.now())) throw new Refusal('not_found');
    const detail = { by: resourceNameOf(owner), ...(again && { again }) };
    return { action: 'app.adopted', detail, record: adoptedBy(record, owner) };
  });

const release = (deps: BoundAppsDeps, caller: Caller, appId: string, { uid, namespace, name }: Owner): Promise<void> =>
  changeApp(deps, caller, appId, (before) => {
    const { managedBy: _following, ...rest } = before;
    const record = isAppOfAnother(before, uid) ? before : { ...rest, releasedBy: { uid, namespace, name } };
    return { action: 'app.released', detail: { by: resourceNameOf({ namespace, name }) }, record };
  });
