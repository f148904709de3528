import { andThen, type MaybePromise } from '../../concurrency/maybe-promise.ts';
import { expectUnchanged, isFull, type Expectation, type Write } from '../../store/port.ts';
import { namesStored } from '../audit/names.ts';
import { acknowledge } from '../devices/acknowledge.ts';
import { stillBound } from '../devices/authenticate.ts';
import { forgetIfSetBack } from '../devices/set-back.ts';
import type { Reported } from '../devices/version-reports.ts';
import type { FoundApp } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import { commitSteps } from '../mutation/commit.ts';
import { requestFields, type MutationDeps, type Origin } from '../mutation/step.ts';
import type { DeviceConfigs } from '../otel-config/delivered-config.ts';
import { put, replaceable, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { OpampAgentRecord } from '../records/opamp-records.ts';
import { Busy } from '../refusal.ts';
import { outcomeOf, type AgentReport, type Outcome } from './agent-state.ts';
import type { OpampMetrics } from './metrics.ts';
import { parseHash, remoteConfigOf, type RemoteConfig, type TemplateInUse } from './remote-config.ts';

/** Connection settings that an agent is to have. */
export interface WantedSettings {
  readonly hash: string;
  /** They replace those that it has, which makes it connect anew: they are offered once. */
  readonly isWhole: boolean;
}

/** The services, clock and metrics of the agents. */
export interface AgentsDeps extends Omit<MutationDeps, 'metrics'> {
  readonly metrics: MutationDeps['metrics'] & OpampMetrics;
  readonly configs: Pick<DeviceConfigs, 'contentOf'>;
  readonly template: () => TemplateInUse;
  readonly reportVersion: (found: FoundApp, reported: Reported, origin: Origin) => void;
}

/** The configuration that an agent should have now. @throws StoreUnavailable */
export const wantedBy = ({ configs, template }: AgentsDeps, found: FoundApp): MaybePromise<RemoteConfig> =>
  andThen(configs.contentOf(found), (content) => remoteConfigOf(content, template()));

/** The decision, and the facts that it rests on. */
export interface Kept {
  readonly outcome: Outcome;
  /** The app and the configuration that it should have, as they are now. */
  readonly current: FoundApp;
  readonly wanted: RemoteConfig;
  /** The store has it, or had nothing to learn. */
  readonly isKept: boolean;
}

/**
 * Writes what has changed, and decides by what the store has.
 * @throws Refusal `invalid_credential`, `account_disabled`; StoreUnavailable; Busy where others changed the record
 * under every attempt
 */
export async function keepReport(
  deps: AgentsDeps,
  found: FoundApp,
  report: AgentReport,
  settings: WantedSettings | undefined,
  origin: Origin,
): Promise<Kept> {
  const key = KEYS.opampAgent(found.account.id, found.app.id);
  const whole = settings?.isWhole ? settings.hash : undefined;
  let earlier: Outcome | undefined;
  for (let attempt = 1; attempt <= LIMITS.conflictAttemptsMax; attempt += 1) {
    // One that cannot be read is replaced: the agent is asked for all that was in it.
    const before = replaceable(KEYS.opampAgent, key, await deps.store.get(key));
    const current = await stillBound(await deps.fleet.current(), found.app);
    const wanted = await wantedBy(deps, current);
    const outcome = outcomeOf(before.record, report, wanted, whole, origin.at);
    const { acknowledged } = outcome;
    if (acknowledged) {
      await unlessFull(deps, origin, () =>
        acknowledge(deps, current, { revision: wanted.revision, ...acknowledged }, origin),
      );
    }
    const had = parseHash(report.config?.hash ?? '')?.revision;
    if (had !== undefined && had < wanted.revision) await forgetIfSetBack(deps, current, had);
    const isSame = before.record === outcome.record;
    const written = isSame
      ? 'committed'
      : await unlessFull(deps, origin, () => write(deps, current, before, outcome, origin));
    if (written === 'conflict') continue;
    // A purge, a downgrade or a revocation may have been answered since (A12, O10): nothing that it took away goes out.
    if (outcome.offer && (await hasMoved(deps, current, wanted))) {
      if (written === 'committed') earlier = withEarlier(outcome, earlier);
      continue;
    }
    return { outcome: withEarlier(outcome, earlier), current, wanted, isKept: written === 'committed' };
  }
  throw new Busy('conflicts', 'The record changed under every attempt.');
}

/** What an earlier attempt has written down as done is done with this answer: no later one finds it to be due. */
function withEarlier(outcome: Outcome, earlier: Outcome | undefined): Outcome {
  if (!earlier) return outcome;
  return {
    ...outcome,
    askFullState: outcome.askFullState || earlier.askFullState,
    isShared: outcome.isShared || earlier.isShared,
    settings: outcome.settings || earlier.settings,
  };
}

/**
 * Whether the configuration that an agent should have is another one by now.
 * @throws Refusal `invalid_credential` or `account_disabled`; StoreUnavailable
 */
export async function hasMoved(deps: AgentsDeps, then: FoundApp, wanted: RemoteConfig): Promise<boolean> {
  const now = await stillBound(await deps.fleet.current(), then.app);
  return (await wantedBy(deps, now)).hash !== wanted.hash;
}

type Before = Versioned<OpampAgentRecord | undefined>;

async function write(
  deps: AgentsDeps,
  { account, app }: FoundApp,
  before: Before,
  { record, isShared }: Outcome,
  origin: Origin,
): Promise<'committed' | 'conflict'> {
  const key = KEYS.opampAgent(account.id, app.id);
  // The record must not outlive its app, nor be another machine's: an enrollment removes it.
  const expect: readonly [Expectation, ...Expectation[]] = [
    expectUnchanged(app),
    expectUnchanged(account),
    expectUnchanged(before),
  ];
  const records: readonly Write[] = [put(key, record)];
  if (!isShared) return (await deps.store.commit({ expect, write: records, quiet: true })).outcome;
  const step = {
    accountId: account.id,
    action: 'credential.shared',
    appId: app.id,
    expect,
    write: records,
    result: undefined,
  } as const;
  return (await commitSteps(deps, [{ origin, step }], namesStored(deps.store), { quiet: true })) === 'conflict'
    ? 'conflict'
    : 'committed';
}

/** A full store takes no state of devices: the agent is answered all the same, so that a purge reaches it. */
async function unlessFull<T>(deps: AgentsDeps, origin: Origin, work: () => Promise<T>): Promise<T | 'not kept'> {
  try {
    return await work();
  } catch (error) {
    if (!isFull(error)) throw error;
    deps.log.info({ err: error, ...requestFields(origin) }, 'the state of an agent could not be kept');
    return 'not kept';
  }
}
