import { andThen, type MaybePromise } from '../../concurrency/maybe-promise.ts';
import { fingerprintOf } from '../../packed/hash.ts';
import { ForgetfulNumbers } from '../../packed/forgetful-numbers.ts';
import { ABSENT, StoreUnavailable, type Entry, type Expectation, type Write } from '../../store/port.ts';
import { acknowledge } from '../devices/acknowledge.ts';
import { stillBound } from '../devices/authenticate.ts';
import type { Reported } from '../devices/version-reports.ts';
import type { FoundApp } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import { commitSteps } from '../mutation/commit.ts';
import { requestFields, type MutationDeps, type Origin } from '../mutation/step.ts';
import type { DeviceConfigs } from '../otel-config/delivered-config.ts';
import { BadRecord, parseRecord, put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { opampAgentSchema, type OpampAgentRecord } from '../records/opamp-records.ts';
import { Busy } from '../refusal.ts';
import { outcomeOf, type AgentReport, type Outcome } from './agent-state.ts';
import type { OpampMetrics } from './metrics.ts';
import { remoteConfigOf, type RemoteConfig, type TemplateInUse } from './remote-config.ts';

/** What an agent is answered. */
export type Attended = Pick<Outcome, 'offer' | 'isEmptied' | 'settings' | 'askFullState'> & {
  /** Whether the report had to be looked at; otherwise it was answered from memory. */
  readonly isNews: boolean;
  /** Whether the agent had an older revision than the one that it is offered now, for the first time. */
  readonly hadOlder: boolean;
};

/** Connection settings that an agent is to have. */
export interface WantedSettings {
  readonly hash: string;
  /** They replace those that it has, which makes it connect anew: they are offered once. */
  readonly isWhole: boolean;
}

/** The agents of OpAMP. */
export interface Agents {
  /**
   * Takes the report of an authenticated agent, and decides what it is offered. A report without news of an agent that
   * has what it should is answered from memory.
   * @param settings the connection settings that the agent should have; undefined where there are none
   * @throws Refusal `invalid_credential`, `account_disabled`; StoreUnavailable; Busy where others changed the record
   * under every attempt
   */
  attend(
    found: FoundApp,
    report: AgentReport,
    settings: WantedSettings | undefined,
    origin: Origin,
  ): MaybePromise<Attended>;
}

/** The services, clock and metrics of the agents. */
export interface AgentsDeps extends Omit<MutationDeps, 'metrics'> {
  readonly metrics: MutationDeps['metrics'] & OpampMetrics;
  readonly configs: Pick<DeviceConfigs, 'contentOf'>;
  readonly template: () => TemplateInUse;
  /** Whether every live replica knows the records. @throws StoreUnavailable; BadRecord */
  readonly mayKeep: () => Promise<boolean>;
  readonly reportVersion: (found: FoundApp, reported: Reported, origin: Origin) => void;
}

const NOTHING_NEW: Attended = {
  offer: undefined,
  isEmptied: false,
  settings: false,
  askFullState: false,
  isNews: false,
  hadOlder: false,
};

/** Creates the service; see `Agents`. */
export function createAgents(deps: AgentsDeps): Agents {
  const apps = (): number => deps.fleet.memory.appCount;
  /**
   * By app, the situation in which the store had all that it needs and the agent what it should. The store is read
   * again in any other one: other replicas hear of the agent, too.
   */
  const settled = new ForgetfulNumbers(apps);
  /** By app, the hashes of the configuration and of the interval that this replica offered last. */
  const offered = new ForgetfulNumbers(apps);
  const intervals = new ForgetfulNumbers(apps);
  /** By app, when it was asked for its full state and that could not be kept, on the monotonic clock. */
  const asked = new ForgetfulNumbers(apps);

  /** What could not be kept is asked for again in the next ten minutes. */
  const forNow = (situated: string): string =>
    `${situated} ${Math.floor(deps.clock.monotonic() / LIMITS.opampFullStateEveryMs)}`;

  /** What could not be kept is forgotten: it must not be asked for with every poll. */
  function mayAskUnkept(appId: string): boolean {
    const [app, now] = [fingerprintOf(appId), deps.clock.monotonic()];
    const last = asked.get(app);
    if (last !== undefined && now < last + LIMITS.opampFullStateEveryMs) return false;
    asked.set(app, now);
    return true;
  }

  async function takeReport(
    found: FoundApp,
    report: AgentReport,
    settings: WantedSettings | undefined,
    origin: Origin,
  ): Promise<Attended> {
    const { outcome, current, wanted, isKept } = await keep(deps, found, report, settings, origin);
    const { offer, isEmptied, hasOlder } = outcome;
    const appId = current.app.id;
    const askFullState = outcome.askFullState && (isKept || mayAskUnkept(appId));
    tell(deps, current, { ...outcome, askFullState }, origin);
    const now = situation(current, report, wanted, settings);
    const isSettled = isKept && outcome.isComplete && isVersionWritten(current, outcome.record);
    const until = isSettled ? now : !isKept && !offer ? forNow(now) : undefined;
    settled.set(fingerprintOf(appId), until === undefined ? NOT_SETTLED : fingerprintOf(until));
    const hadOlder = offer !== undefined && isFirst(offered, appId, offer.hash) && hasOlder;
    // An interval is offered to whoever may have started anew, and once by each replica, which may have another one now.
    const isNewInterval = settings?.isWhole === false && isFirst(intervals, appId, settings.hash);
    const offersInterval = settings?.isWhole === false && (isNewInterval || report.described !== undefined);
    // Whole settings make an agent connect anew: they are offered only where that is remembered.
    const offersSettings = (outcome.settings && isKept) || offersInterval;
    return { offer, isEmptied, settings: offersSettings, askFullState, isNews: true, hadOlder };
  }

  return {
    attend(found, report, settings, origin) {
      return andThen(wantedBy(deps, found), (wanted) => {
        const isQuiet = !report.described && !report.health && !report.config && !report.gap;
        const known = isQuiet ? settled.get(fingerprintOf(found.app.id)) : undefined;
        if (known !== undefined) {
          const now = situation(found, report, wanted, settings);
          if (known === fingerprintOf(now) || known === fingerprintOf(forNow(now))) return NOTHING_NEW;
        }
        return takeReport(found, report, settings, origin);
      });
    },
  };
}

/** The configuration that an agent should have now. @throws StoreUnavailable */
const wantedBy = ({ configs, template }: AgentsDeps, found: FoundApp): MaybePromise<RemoteConfig> =>
  andThen(configs.contentOf(found), (content) => remoteConfigOf(content, template()));

/** The number of no situation. */
const NOT_SETTLED = -1;

/** Notes what an app is offered. @returns whether it is another thing than the last one */
function isFirst(last: ForgetfulNumbers, appId: string, what: string): boolean {
  const [app, now] = [fingerprintOf(appId), fingerprintOf(what)];
  if (last.get(app) === now) return false;
  last.set(app, now);
  return true;
}

/**
 * As text, for a number: two share one with a probability of 2^-53: then the agent is not offered a change, until the
 * next. What was changed and changed back is another situation: another replica may have brought the change.
 */
function situation(
  { account }: FoundApp,
  { instance = '', abilities }: AgentReport,
  wanted: RemoteConfig,
  settings: WantedSettings | undefined,
): string {
  const { acceptsConfig, reportsConfig } = abilities;
  const can = `${acceptsConfig ? 'a' : ''}${reportsConfig ? 'r' : ''}`;
  return `${instance} ${wanted.hash} ${account.revision} ${settings?.hash ?? ''} ${can}`;
}

interface Kept {
  readonly outcome: Outcome;
  /** The app and the configuration that it should have, as they are now. */
  readonly current: FoundApp;
  readonly wanted: RemoteConfig;
  /** The store has it, or had nothing to learn. */
  readonly isKept: boolean;
}

/** Writes what has changed, and decides by what the store has. */
async function keep(
  deps: AgentsDeps,
  found: FoundApp,
  report: AgentReport,
  settings: WantedSettings | undefined,
  origin: Origin,
): Promise<Kept> {
  const key = KEYS.opampAgent(found.account.id, found.app.id);
  const whole = settings?.isWhole ? settings.hash : undefined;
  for (let attempt = 1; attempt <= LIMITS.conflictAttemptsMax; attempt += 1) {
    const before = readable(await deps.store.get(key));
    const current = await stillBound(await deps.fleet.current(), found.app);
    const wanted = await wantedBy(deps, current);
    const outcome = outcomeOf(before.record, report, wanted, whole, origin.at);
    const { acknowledged } = outcome;
    if (acknowledged) {
      await unlessFull(deps, origin, () =>
        acknowledge(deps, current, { revision: wanted.revision, ...acknowledged }, origin),
      );
    }
    const isSame = before.record === outcome.record;
    const written = isSame
      ? 'committed'
      : await unlessFull(deps, origin, () => write(deps, current, before, outcome, origin));
    if (written === 'conflict') continue;
    // A purge, a downgrade or a revocation may have been answered since (A12, O10): nothing that it took away goes out.
    if (outcome.offer && (await hasMoved(deps, current, wanted))) continue;
    return { outcome, current, wanted, isKept: written === 'committed' };
  }
  throw new Busy('conflicts', 'The record changed under every attempt.');
}

/** @throws Refusal `invalid_credential` or `account_disabled` */
async function hasMoved(deps: AgentsDeps, then: FoundApp, wanted: RemoteConfig): Promise<boolean> {
  const now = await stillBound(await deps.fleet.current(), then.app);
  return (await wantedBy(deps, now)).hash !== wanted.hash;
}

interface Before {
  readonly record: OpampAgentRecord | undefined;
  readonly revision: number;
}

/** A record that cannot be read is replaced: the agent is asked for all that was in it. */
function readable(entry: Entry | undefined): Before {
  if (!entry) return { record: undefined, revision: ABSENT };
  try {
    return parseRecord(opampAgentSchema, entry);
  } catch (error) {
    if (!(error instanceof BadRecord)) throw error;
    return { record: undefined, revision: entry.revision };
  }
}

async function write(
  deps: AgentsDeps,
  { account, app }: FoundApp,
  before: Before,
  { record, isShared }: Outcome,
  origin: Origin,
): Promise<'committed' | 'conflict' | 'not kept'> {
  // A replica of the version before would leave the record behind when it deletes the app.
  if (before.revision === ABSENT && !(await deps.mayKeep())) return 'not kept';
  const key = KEYS.opampAgent(account.id, app.id);
  // The record must not outlive its app, nor be another machine's: an enrollment removes it.
  const expect: readonly [Expectation, ...Expectation[]] = [
    { key: KEYS.app(account.id, app.id), revision: app.revision },
    { key: KEYS.account(account.id), revision: account.revision },
    { key, revision: before.revision },
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
  return (await commitSteps(deps, [{ origin, step }], { quiet: true })) === 'conflict' ? 'conflict' : 'committed';
}

/** A full store takes no state of devices: the agent is answered all the same, so that a purge reaches it. */
async function unlessFull<T>(deps: AgentsDeps, origin: Origin, work: () => Promise<T>): Promise<T | 'not kept'> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof StoreUnavailable && error.reason === 'full')) throw error;
    deps.log.info({ err: error, ...requestFields(origin) }, 'the state of an agent could not be kept');
    return 'not kept';
  }
}

function tell(deps: AgentsDeps, current: FoundApp, { record, isShared, askFullState }: Outcome, origin: Origin): void {
  if (isShared) {
    deps.metrics.opampCredentialShared();
    deps.log.info({ appId: current.app.id, ...requestFields(origin) }, 'two instances use one credential');
  }
  if (askFullState) deps.metrics.opampFullStateAsked();
  const { platform, agentVersion } = record.described ?? {};
  if (platform === undefined && agentVersion === undefined) return;
  deps.reportVersion(current, { platform, agentVersion }, origin);
}

function isVersionWritten({ app }: FoundApp, { described }: OpampAgentRecord): boolean {
  const { platform = app.record.platform, agentVersion = app.record.agentVersion } = described ?? {};
  return app.record.platform === platform && app.record.agentVersion === agentVersion;
}
