import { andThen, type MaybePromise } from '../../concurrency/maybe-promise.ts';
import { ForgetfulNumbers } from '../../packed/forgetful-numbers.ts';
import { fingerprintOf } from '../../packed/hash.ts';
import { tellShared } from '../shared-credentials/shared-credentials.ts';
import type { FoundApp } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import type { Origin } from '../mutation/step.ts';
import type { OpampAgentRecord } from '../records/opamp-records.ts';
import { outcomeOf, type AgentReport, type Outcome } from './agent-state.ts';
import { hasMoved, keepReport, wantedBy, type AgentsDeps, type Kept, type WantedSettings } from './keep-report.ts';
import type { RemoteConfig } from './remote-config.ts';

/** The answer to an agent. */
export type Attended = Pick<Outcome, 'offer' | 'settings' | 'askFullState'> & {
  /** Whether the report had to be looked at; otherwise it was answered from memory. */
  readonly isNews: boolean;
  /** Whether the agent had an older revision than the one that it is offered now, for the first time. */
  readonly hadOlder: boolean;
};

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

const NOTHING_NEW: Attended = {
  offer: undefined,
  settings: false,
  askFullState: false,
  isNews: false,
  hadOlder: false,
};

/** Creates the service; see `Agents`. */
export function createAgents(deps: AgentsDeps): Agents {
  const apps = (): number => deps.fleet.memory.appCount;
  /**
   * The situation of each app in which the store had all that it needs and the agent what it should. The store is read
   * again in any other one: other replicas hear of the agent, too.
   */
  const settled = new ForgetfulNumbers(apps);
  /** The hashes of the configuration and of the interval that this replica offered each app last. */
  const offered = new ForgetfulNumbers(apps);
  const intervals = new ForgetfulNumbers(apps);
  /** The time, by app, at which it was asked for its full state and that could not be kept, on the monotonic clock. */
  const asked = new ForgetfulNumbers(apps);

  /** A report that could not be kept is asked for again in the next ten minutes. */
  const forNow = (situated: string): string =>
    `${situated} ${Math.floor(deps.clock.monotonic() / LIMITS.opampFullStateEveryMs)}`;

  /** A report that could not be kept is forgotten: it must not be asked for with every poll. */
  function mayAskUnkept(appId: string): boolean {
    const [app, now] = [fingerprintOf(appId), deps.clock.monotonic()];
    const last = asked.get(app);
    if (last !== undefined && now < last + LIMITS.opampFullStateEveryMs) return false;
    asked.set(app, now);
    return true;
  }

  /**
   * The offer to an agent that nothing can be kept of, and that was asked already: a purge must reach it. Each is made
   * once.
   */
  async function unkeptOffer(kept: Kept, report: AgentReport, origin: Origin): Promise<RemoteConfig | undefined> {
    const { outcome, current, wanted } = kept;
    const { offer } = outcomeOf(outcome.record, report, wanted, undefined, origin.at);
    if (!offer || !isFirst(offered, current.app.id, offer.hash)) return undefined;
    return (await hasMoved(deps, current, wanted)) ? undefined : offer;
  }

  async function takeReport(
    found: FoundApp,
    report: AgentReport,
    settings: WantedSettings | undefined,
    origin: Origin,
  ): Promise<Attended> {
    const kept = await keepReport(deps, found, report, settings, origin);
    const { outcome, current, wanted, isKept } = kept;
    const { hasOlder } = outcome;
    const appId = current.app.id;
    const askFullState = outcome.askFullState && (isKept || mayAskUnkept(appId));
    const isAskedAlready = outcome.askFullState && !askFullState;
    const offer = outcome.offer ?? (isAskedAlready ? await unkeptOffer(kept, report, origin) : undefined);
    tell(deps, current, { ...outcome, askFullState, isShared: outcome.isShared && isKept }, origin);
    const now = situation(current, report, wanted, settings);
    const isSettled = isKept && outcome.isComplete && isVersionWritten(current, outcome.record);
    const isForNow = outcome.isWaiting || (!isKept && !offer);
    const until = isForNow ? forNow(now) : isSettled ? now : undefined;
    settled.set(fingerprintOf(appId), until === undefined ? NOT_SETTLED : fingerprintOf(until));
    const hadOlder = offer !== undefined && isFirst(offered, appId, offer.hash) && hasOlder;
    // An interval is offered to whoever may have started anew, and once by each replica, which may have another one
    // now.
    const isNewInterval = settings?.isWhole === false && isFirst(intervals, appId, settings.hash);
    const offersInterval = settings?.isWhole === false && (isNewInterval || report.described !== undefined);
    // Whole settings make an agent connect anew: they are offered only where that is remembered.
    const offersSettings = (outcome.settings && isKept) || offersInterval;
    return { offer, settings: offersSettings, askFullState, isNews: true, hadOlder };
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

function tell(deps: AgentsDeps, current: FoundApp, { record, isShared, askFullState }: Outcome, origin: Origin): void {
  if (isShared) tellShared(deps, current.app.id, origin);
  if (askFullState) deps.metrics.opampFullStateAsked();
  const { platform, agentVersion } = record.described ?? {};
  if (platform === undefined && agentVersion === undefined) return;
  deps.reportVersion(current, { platform, agentVersion }, origin);
}

function isVersionWritten({ app }: FoundApp, { described }: OpampAgentRecord): boolean {
  const { platform = app.record.platform, agentVersion = app.record.agentVersion } = described ?? {};
  return app.record.platform === platform && app.record.agentVersion === agentVersion;
}
