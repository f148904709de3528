import type { Write } from '../../store/port.ts';
import type { FleetReader } from '../fleet/reader.ts';
import { mutate } from '../mutation/mutation.ts';
import type { Step, Unchanged } from '../mutation/step.ts';
import { put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { appTransition } from '../status-history/status-change.ts';
import { isFullyRevoked, revoked } from './app-state.ts';
import { ownApp, type AppsDeps, type Caller } from './own-app.ts';

/** See `Apps.revoke`. */
export async function revokeApp(deps: AppsDeps, caller: Caller, appId: string): Promise<void> {
  await mutate(deps, caller.origin, (reader) => revocationStep(deps, caller, reader, appId), caller.reader);
}

/** The step that revokes an app. @throws Refusal `not_found`; StoreUnavailable; BadRecord */
export async function revocationStep(
  deps: AppsDeps,
  caller: Caller,
  reader: FleetReader,
  appId: string,
): Promise<Step<void> | Unchanged<void>> {
  const { accountId, origin } = caller;
  const { app, expect, write: preconditionWrites } = await ownApp(caller, reader, appId);
  if (isFullyRevoked(app.record)) return { unchanged: undefined };
  const { status, credential, codes } = app.record;
  const changes = status === 'revoked' ? undefined : await appTransition(deps, reader, app, 'revoked', origin.at);
  const write: Write[] = [
    put(KEYS.app(accountId, appId), revoked(app.record, changes?.at ?? app.record.statusAt)),
    ...(changes?.write ?? []),
    ...preconditionWrites,
  ];
  if (credential !== undefined) write.push(put(KEYS.pastCredential(appId, credential), {}));
  return {
    accountId,
    action: 'app.revoked',
    appId,
    detail: { from: status, codesVoided: codes.length },
    ...(changes && { countsAt: changes.at }),
    expect: [...expect, ...(changes?.expect ?? [])],
    write,
    result: undefined,
  };
}
