import { HOUR_MS } from '../../time/utc-days.ts';
import { isToldOfSharing } from '../shared-credentials/shared-credentials.ts';
import { takesTurns } from '../shared-credentials/turn-taking.ts';
import { LIMITS } from '../limits.ts';
import type { OpampAgentRecord } from '../records/opamp-records.ts';
import { isEmptied, offerFor, parseHash, type KnownConfig, type RemoteConfig } from './remote-config.ts';

/** The abilities of an agent, as far as they concern Muster. */
export interface AgentAbilities {
  readonly acceptsConfig: boolean;
  readonly reportsConfig: boolean;
  readonly acceptsSettings: boolean;
  readonly reportsHeartbeat: boolean;
  readonly reportsHealth: boolean;
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

/** The consequences of a report: the record that is to be written, and what the agent is answered. */
export interface Outcome {
  /** The record as it is to be; the same object where nothing has changed. */
  readonly record: OpampAgentRecord;
  /** The configuration that it is offered; undefined where it has what it should. */
  readonly offer: RemoteConfig | undefined;
  /** It has an earlier revision. */
  readonly hasOlder: boolean;
  /** It is offered connection settings. */
  readonly settings: boolean;
  readonly askFullState: boolean;
  /** Two instances use the credential in turn, and the audit is to tell. */
  readonly isShared: boolean;
  /** The agent's result with the current configuration, for the rollout. */
  readonly acknowledged: { readonly status: 'applied' | 'failed'; readonly error: string | undefined } | undefined;
  /** It keeps what a replica with a newer template gave it, for as long as replicas may have two. */
  readonly isWaiting: boolean;
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
  const { abilities } = report;
  if (report.described) next.described = withoutUndefined(report.described);
  if (abilities.reportsHealth) takeHealth(next, report, now);
  forgetFailed(next, wanted);
  const acknowledged = takeConfig(next, report, wanted);
  const askFullState = takeDebt(next, report, now);
  const known = knownConfig(next);
  const offer =
    abilities.acceptsConfig && !(askFullState && known.hash === undefined)
      ? offerTo(next, report, wanted, now)
      : undefined;
  if (offer) noteOffer(next, offer, abilities.reportsConfig);
  const offersSettings = settings !== undefined && next.settings !== settings;
  if (offersSettings) next.settings = settings;
  const hasAnswered = !abilities.reportsConfig || next.offered === undefined;
  const isOfInstance = report.instance === undefined || next.instances[0] === report.instance;
  const has = parseHash(known.hash ?? '');
  return {
    record: isSame(before, next) ? before : next,
    offer,
    hasOlder: (has?.revision ?? wanted.revision) < wanted.revision,
    settings: offersSettings,
    askFullState,
    isShared,
    acknowledged,
    isWaiting: abilities.acceptsConfig && !offer && has !== undefined && has.key !== wanted.key,
    isComplete:
      isOfInstance &&
      next.described !== undefined &&
      next.owes !== true &&
      (offer === undefined ? hasAnswered : !abilities.reportsConfig),
  };
}

/**
 * Decides what an agent is offered. An offer that it has not answered may have been lost, or its answer may have been:
 * then nobody knows what it has, and the offer is repeated. The empty one in place of a failed one is repeated only to
 * an agent that says something of itself.
 */
function offerTo(next: Draft, report: AgentReport, wanted: RemoteConfig, now: number): RemoteConfig | undefined {
  const known = knownConfig(next);
  if (next.offered !== undefined && isNewer(next.offered, wanted, known, now)) return undefined;
  const offer = offerFor(wanted, next.offered === undefined ? known : { ...known, hash: undefined }, now);
  const isRepeated = offer !== undefined && offer.hash === next.offered && isEmptied(offer);
  return isRepeated && !report.config && !report.described ? undefined : offer;
}

/** Another replica has offered it by a newer template, and is still to be answered. */
const isNewer = (offered: string, wanted: RemoteConfig, known: KnownConfig, now: number): boolean =>
  parseHash(offered)?.key !== wanted.key && offerFor(wanted, { ...known, hash: offered }, now) === undefined;

/** An agent that has described itself and said nothing of a configuration has none. */
const knownConfig = (record: Draft): KnownConfig => ({
  hash: record.config?.hash ?? (record.described && ''),
  failed: record.failed,
});

/** An agent that does not say what it has is taken at its word that it accepts. */
function noteOffer(next: Draft, { hash }: RemoteConfig, reportsConfig: boolean): void {
  if (reportsConfig) next.offered = hash;
  else next.config = { hash, status: 'offered' };
}

/**
 * Notes whether the agent owes its full state, and until it has come. @returns whether it is asked for now, once in ten
 * minutes at most
 */
function takeDebt(next: Draft, report: AgentReport, now: number): boolean {
  const { described, config, abilities } = report;
  // An agent that has never had a configuration may say nothing of it.
  const hasConfig = abilities.reportsConfig && next.config !== undefined;
  const isFull = described !== undefined && (config !== undefined || !hasConfig);
  const owes = !isFull && (next.owes === true || report.gap || next.described === undefined);
  if (!owes) {
    delete next.owes;
    return false;
  }
  next.owes = true;
  if (!mayAsk(next, now)) return false;
  next.askedAt = now;
  return true;
}

type Draft = { -readonly [Field in keyof OpampAgentRecord]: OpampAgentRecord[Field] };

/**
 * Keeps the last two instances. A newer one replaces the older, as after a restart, and starts anew: what the former
 * one said does not hold for it, but for what it could not load. Where the older one comes back, both live: two
 * machines use one credential. So do many that come without a word on themselves, which every agent that starts has.
 * @returns whether the audit is to be told, once an hour at most
 */
function takeInstance(next: Draft, { instance, described }: AgentReport, now: number): boolean {
  const [newest] = next.instances;
  if (instance === undefined || instance === newest) return false;
  // Machines that take turns would cost a write with each message.
  const isTold = isToldOfSharing(next, now);
  if (takesTurns(next.instances.toReversed(), instance, TURNS)) {
    if (isTold) return false;
    next.instances = [instance, newest ?? instance];
    next.sharedAt = now;
    forget(next);
    return true;
  }
  if (isTold && !described) return false;
  next.instances = newest === undefined ? [instance] : [instance, newest];
  forget(next);
  return newest !== undefined && !described && countStrangers(next, now);
}

/** An instance has its id from its start on, in all networks: whoever comes back has lived beside the other one. */
const TURNS = 3;

/** Reports of another instance do not hold for this one. */
function forget(next: Draft): void {
  for (const field of ['described', 'config', 'offered', 'health', 'settings', 'owes'] as const) delete next[field];
}

/** One message may be lost with the words in it; so many within an hour are several machines. */
const STRANGERS_MAX = 6;

function countStrangers(next: Draft, now: number): boolean {
  const { since, count } = next.strangers ?? { since: now, count: 0 };
  const isOver = now >= since + HOUR_MS || now < since;
  next.strangers = isOver ? { since: now, count: 1 } : { since, count: count + 1 };
  if (next.strangers.count < STRANGERS_MAX) return false;
  delete next.strangers;
  next.sharedAt = now;
  return true;
}

function takeHealth(next: Draft, { health }: AgentReport, now: number): void {
  if (!health) return;
  const { healthy, error } = health;
  if (next.health?.healthy === healthy && next.health.error === error) return;
  next.health = { healthy, ...(error !== undefined && { error }), at: now };
}

/**
 * Forgets what the agent could not load once another content is wanted. Where that one comes back, as after a downgrade
 * and an upgrade, the agent tries it once more: its acknowledgement is gone, too. Another template of the same content
 * is not enough: while replicas have two, each would have the agent try again what failed at the other.
 */
function forgetFailed(next: Draft, wanted: RemoteConfig): void {
  const content = parseHash(wanted.hash)?.content ?? '';
  if (next.failed?.startsWith(`${content}~`) === false) delete next.failed;
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
  delete next.offered;
  if (hash === '') return wanted.revision === 0 ? { status: 'applied', error: undefined } : undefined;
  const has = parseHash(hash);
  // It may tell a replica that has another template.
  const isOfRevision = has !== undefined && !has.isEmptied && has.content === parseHash(wanted.hash)?.content;
  if (isOfRevision && status === 'failed') next.failed = has.key;
  if (has?.key !== wanted.key || has.isEmptied) return undefined;
  if (status === 'applied' && next.failed === has.key) delete next.failed;
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
