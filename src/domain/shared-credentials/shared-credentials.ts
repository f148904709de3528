import { Semaphore } from '../../concurrency/semaphore.ts';
import { expectUnchanged } from '../../store/port.ts';
import { HOUR_MS } from '../../time/utc-days.ts';
import type { FleetMemory } from '../fleet/memory.ts';
import type { AppEntry, FoundApp } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import { mutate } from '../mutation/mutation.ts';
import { requestFields, type MutationDeps, type Origin } from '../mutation/step.ts';
import { put, replaceable } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { OpampAgentRecord } from '../records/opamp-records.ts';
import { stillBound } from '../devices/authenticate.ts';
import type { SharingMetrics } from '../devices/metrics.ts';
import { createSharingWatch, type Sender, type StoredContact } from './sharing-watch.ts';

/** The services, clock and metrics of what is told of shared credentials. */
interface SharedCredentialsDeps extends Omit<MutationDeps, 'metrics'> {
  readonly metrics: MutationDeps['metrics'] & SharingMetrics;
}

/** Finds the credentials that machines share on the device plane, and tells of them. */
export interface SharedCredentials {
  /**
   * Notes a poll.
   * @param at on the wall clock, in milliseconds since 1970
   * @param originOf is asked for the poll's origin where there is something to tell
   * @returns the sender that other replicas are to know (`Heartbeats.seen`)
   */
  polled(found: FoundApp, sender: Sender, at: number, originOf: () => Origin): number | undefined;
}

/** Whether the audit was told within the hour. */
export const isToldOfSharing = ({ sharedAt }: Pick<OpampAgentRecord, 'sharedAt'>, now: number): boolean =>
  sharedAt !== undefined && now < sharedAt + HOUR_MS && now >= sharedAt;

/**
 * For as long as machines share a credential, it is told once an hour: after two hours without that they no longer do.
 */
const SHOWN_MS = 2 * HOUR_MS;

/** The instant at which machines were last found to share the credential, where they may still do so. */
export function sharedAtOf({ sharedAt }: Pick<OpampAgentRecord, 'sharedAt'>, now: number): number | undefined {
  return sharedAt !== undefined && now < sharedAt + SHOWN_MS ? sharedAt : undefined;
}

/** Counts and logs that the audit has been told. */
export function tellShared(
  { metrics, log }: Pick<SharedCredentialsDeps, 'metrics' | 'log'>,
  appId: string,
  origin: Origin,
): void {
  metrics.credentialShared();
  log.info({ appId, ...requestFields(origin) }, 'two instances use one credential');
}

/**
 * Creates the service; see `SharedCredentials`. It writes in the background, at most once an hour for each app over all
 * replicas, by the app's record: no poll waits for it. Behind a balancer that hides the clients, a whole fleet may be
 * found at once.
 */
export function createSharedCredentials(deps: SharedCredentialsDeps): SharedCredentials {
  const watch = createSharingWatch(() => deps.fleet.memory.appCount);

  const writes = new Semaphore(LIMITS.sharingToldAtOnceMax);

  /** @returns whether this replica wrote it into the record, which has it afterwards in either case */
  async function tell(found: FoundApp, origin: Origin): Promise<'told' | 'known'> {
    const outcome = await mutate<'told' | 'known'>(deps, origin, async (reader) => {
      const { account, app } = await stillBound(reader, found.app);
      const key = KEYS.opampAgent(account.id, app.id);
      const before = replaceable(KEYS.opampAgent, key, await deps.store.get(key));
      if (isToldOfSharing(before.record ?? {}, origin.at)) return { unchanged: 'known' };
      return {
        accountId: account.id,
        action: 'credential.shared',
        appId: app.id,
        expect: [expectUnchanged(app), expectUnchanged(account), expectUnchanged(before)],
        write: [put(key, { instances: [], ...before.record, sharedAt: origin.at })],
        result: 'told',
      };
    });
    if (outcome === 'told') tellShared(deps, found.app.id, origin);
    return outcome;
  }

  async function tellOrFindAgain(found: FoundApp, origin: Origin, at: number): Promise<void> {
    try {
      if (await writes.tryRun(() => tell(found, origin))) return;
    } catch (error) {
      const details = { err: error, appId: found.app.id, ...requestFields(origin) };
      deps.log.info(details, 'a shared credential was not told');
    }
    watch.untold(found.app.id, at);
  }

  return {
    polled(found, sender, at, originOf) {
      const { isShared, toOthers } = watch.polled(
        found.app.id,
        sender,
        at,
        storedContact(deps.fleet.memory, found.app),
      );
      if (isShared) void tellOrFindAgain(found, originOf(), at);
      return toOthers;
    },
  };
}

/** The last contact that memory knows to be written. */
function storedContact(memory: FleetMemory, { accountId, slot }: AppEntry): StoredContact | undefined {
  const account = memory.account(accountId);
  const at = account?.lastSeen().record.get(slot);
  return at === undefined ? undefined : { at, sender: account?.senders().get(slot) };
}
