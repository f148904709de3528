import { expectUnchanged, type Expectation } from '../../store/port.ts';
import type { FleetReader } from '../fleet/reader.ts';
import { mutate } from '../mutation/mutation.ts';
import { withParts, type MutationDeps, type Origin, type Step } from '../mutation/step.ts';
import { put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { AccountRecord } from '../records/account-records.ts';
import type { AppRecord } from '../records/app-records.ts';
import { isAppOfAnother, resourceNameOf } from './adoption.ts';
import type { BindingOf, Bindings } from './bindings.ts';
import type { BindingRecord } from '../records/binding-records.ts';

/** Removes the bindings of custom resources that went without their clean-up. */
export interface GoneResources {
  /**
   * Removes a binding. The account, the app and the keys that it names stay as they are, since nothing tells any more
   * what the resource would have wished for them; an account or app that followed the resource follows none.
   * @throws StaleRead where the binding has changed or the term has ended; StoreUnavailable, Busy
   */
  forget(origin: Origin, bindings: Bindings, gone: BindingOf): Promise<void>;
}

/** Creates the removal of bindings; see `GoneResources`. */
export function createGoneResources(deps: MutationDeps): GoneResources {
  return { forget: (origin, bindings, gone) => forget(deps, origin, bindings, gone) };
}

async function forget(deps: MutationDeps, origin: Origin, bindings: Bindings, gone: BindingOf): Promise<void> {
  const { uid, record } = gone;
  const { accountId } = record;
  if (!(await (await deps.fleet.current()).account(accountId))) return await bindings.save(uid, gone, undefined);
  const precondition = bindings.precondition(uid, gone, undefined);
  await mutate<void>(deps, origin, async (reader) => {
    await precondition.recheck();
    return withParts(await forgettingStep(reader, gone, origin.at), precondition);
  });
}

async function forgettingStep(reader: FleetReader, { uid, record }: BindingOf, at: number): Promise<Step<void>> {
  const { accountId, appId, kind } = record;
  const account = await reader.account(accountId);
  const app = appId === undefined ? undefined : await account?.app(appId);
  const released = account && withoutAccountOwner(account.record, uid, at);
  const freed = app && withoutAppOwner(app.record, uid, record);
  const [accountKey, appKey] = [KEYS.account(accountId), KEYS.app(accountId, appId ?? '')];
  const expect: Expectation[] = [];
  if (account && released) expect.push(expectUnchanged(account));
  if (app && freed) expect.push(expectUnchanged(app));
  return {
    accountId,
    action: 'resource.forgotten',
    ...(appId !== undefined && { appId }),
    detail: {
      kind,
      resource: resourceNameOf(record),
      ...(record.key && { keyId: record.key.keyId }),
      // It would have been revoked at the end of the rotation.
      ...(record.previousKey && { previousKeyId: record.previousKey.keyId }),
    },
    expect,
    write: [...(released ? [put(accountKey, released)] : []), ...(freed ? [put(appKey, freed)] : [])],
    result: undefined,
  };
}

/** Undefined where the account follows another resource, or none. */
function withoutAccountOwner(
  { managedBy, releasedBy: _former, ...rest }: AccountRecord,
  uid: string,
  at: number,
): AccountRecord | undefined {
  if (managedBy?.uid !== uid) return undefined;
  const { namespace, name, namespaceUid } = managedBy;
  if (namespaceUid === undefined) return rest;
  return { ...rest, releasedBy: { uid, namespace, name, namespaceUid, at } };
}

/** Undefined where the app follows another resource. */
function withoutAppOwner(record: AppRecord, uid: string, { namespace, name }: BindingRecord): AppRecord | undefined {
  const { managedBy: _following, ...rest } = record;
  return isAppOfAnother(record, uid) ? undefined : { ...rest, releasedBy: { uid, namespace, name } };
}
