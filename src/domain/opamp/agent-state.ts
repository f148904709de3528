import { HOUR_MS } from '../../time/utc-days.ts';
import { LIMITS } from '../limits.ts';
import type { OpampAgentRecord } from '../records/opamp-records.ts';
import { offerFor, parseHash, type RemoteConfig } from './remote-config.ts';

/** What an agent can do, as far as it concerns Muster. */
export interface AgentAbilities {
  readonly acceptsConfig: boolean;
  readonly reportsConfig: boolean;
  readonly acceptsSettings: boolean;
  readonly reportsHeartbeat: boolean;
}

/** A message of an agent, within bounds. What it leaves out has not changed. */
export interface AgentReport {
  /** The id of the instance, 32 hex digits; undefined where it has none that can be used. */
  readonly instance: string | undefined;
  readonly abilities: AgentAbilities;
  readonly described: { readonly platform: string | undefined; readonly agentVersion: string | undefined } | undefined;
  readonly health: { readonly healthy: boolean; readonly error: string | undefined } | undefined;
  readonly config:
    | {
        /** As text; `''` where it has none, `?` where it is no hash of Muster's. */
        readonly hash: string;
        readonly status: 'unset' | 'applying' | 'applied' | 'failed';
        readonly error: string | undefined;
      }
    | undefined;
  /** A message before this one did not arrive. */
  readonly gap: boolean;
}

/** What follows from a report: the record that is to be written, and what the agent is answered. */
export interface Outcome {
  /** The record as it is to be; the same object where nothing has changed. */
  readonly record: OpampAgentRecord;
  /** The configuration that it is offered; undefined where it has what it should. */
  readonly offer: RemoteConfig | undefined;
  /** It is offered the empty configuration, since it could not load the one that it should have. */
  readonly isEmptied: boolean;
  /** It has an earlier revision. */
  readonly hasOlder: boolean;
  /** It is offered connection settings. */
  readonly settings: boolean;
  readonly askFullState: boolean;
  /** Two instances use the credential in turn, and the audit is to tell. */
  readonly isShared: boolean;
  /** What it did with the current configuration, for the rollout. */
  readonly acknowledged: { readonly status: 'applied' | 'failed'; readonly error: string | undefined } | undefined;
  /** The store has all that the service needs: a message without news need not read the record. */
  readonly isComplete: boolean;
}

const NOBODY: OpampAgentRecord = { instances: [] };

/**
 * Decides what follows from a report.
 * @param before what the store has of the agent
 * @param wanted the configuration that it should have
 * @param settings the hash of the connection settings that it should have; undefined where there are none to offer
 * @param now in milliseconds since 1970
 */
export function outcomeOf(
  before: OpampAgentRecord = NOBODY,
  report: AgentReport,
  wanted: RemoteConfig,
  settings: string | undefined,
  now: number,
): Outcome {
  const next: Draft = { ...before };
  const isShared = takeInstance(next, report, now);
  if (report.described) next.described = withoutUndefined(report.described);
  takeHealth(next, report, now);
  const acknowledged = takeConfig(next, report, wanted);
  const { acceptsConfig, reportsConfig } = report.abilities;
  // Who has described itself and said nothing of a configuration has none.
  const known = { hash: next.config?.hash ?? (next.described && ''), failed: next.failed };
  const offer = acceptsConfig ? offerFor(wanted, known) : undefined;
  // An agent that does not say what it has is taken at its word that it accepts.
  if (offer && !reportsConfig) next.config = { hash: offer.hash, status: 'offered' };
  const offersSettings = settings !== undefined && next.settings !== settings;
  if (offersSettings) next.settings = settings;
  const lacks = next.described === undefined;
  const askFullState = (lacks || (report.gap && !report.described)) && mayAsk(next, now);
  if (askFullState) next.askedAt = now;
  return {
    record: isSame(before, next) ? before : next,
    offer,
    isEmptied: offer !== undefined && parseHash(offer.hash)?.isEmptied === true,
    hasOlder: (parseHash(known.hash ?? '')?.revision ?? wanted.revision) < wanted.revision,
    settings: offersSettings,
    askFullState,
    isShared,
    acknowledged,
    isComplete: !lacks && (offer === undefined || !reportsConfig),
  };
}

type Draft = { -readonly [Field in keyof OpampAgentRecord]: OpampAgentRecord[Field] };

/**
 * Keeps the last two instances. A newer one replaces the older, as after a restart. Where the older one comes back, both
 * live: two machines use one credential.
 * @returns whether the audit is to be told, once an hour at most
 */
function takeInstance(next: Draft, { instance }: AgentReport, now: number): boolean {
  const [newest, older] = next.instances;
  if (instance === undefined || instance === newest) return false;
  if (instance !== older) {
    next.instances = newest === undefined ? [instance] : [instance, newest];
    // It starts anew, and says itself what it has.
    return false;
  }
  // Two that take turns would cost a write with each message.
  if (next.sharedAt !== undefined && now < next.sharedAt + HOUR_MS) return false;
  next.instances = [instance, newest ?? instance];
  next.sharedAt = now;
  return true;
}

function takeHealth(next: Draft, { health }: AgentReport, now: number): void {
  if (!health) return;
  const { healthy, error } = health;
  if (next.health?.healthy === healthy && next.health.error === error) return;
  next.health = { healthy, ...(error !== undefined && { error }), at: now };
}

function takeConfig(next: Draft, report: AgentReport, wanted: RemoteConfig): Outcome['acknowledged'] {
  const { config, abilities } = report;
  if (!config || !abilities.reportsConfig) {
    // There is nothing to apply, and it has nothing.
    const hasNothing = report.described !== undefined && next.config === undefined && wanted.revision === 0;
    return hasNothing && abilities.reportsConfig ? { status: 'applied', error: undefined } : undefined;
  }
  const { hash, status, error } = config;
  if (next.config?.hash !== hash || next.config.status !== status) next.config = { hash, status };
  if (hash === '') return wanted.revision === 0 ? { status: 'applied', error: undefined } : undefined;
  const has = parseHash(hash);
  if (has?.key !== wanted.key || has.isEmptied) return undefined;
  if (status === 'failed') next.failed = has.key;
  else if (status === 'applied' && next.failed === has.key) delete next.failed;
  return status === 'applied' || status === 'failed' ? { status, error } : undefined;
}

const mayAsk = ({ askedAt }: OpampAgentRecord, now: number): boolean =>
  askedAt === undefined || now >= askedAt + LIMITS.opampFullStateEveryMs || now < askedAt;

/** Both have been made from the same record, so their fields have one order. */
const isSame = (before: OpampAgentRecord, next: OpampAgentRecord): boolean =>
  JSON.stringify(before) === JSON.stringify(next);

function withoutUndefined({ platform, agentVersion }: NonNullable<AgentReport['described']>) {
  return { ...(platform !== undefined && { platform }), ...(agentVersion !== undefined && { agentVersion }) };
}
