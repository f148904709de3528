import { isDeepStrictEqual } from 'node:util';
import { MusterError, type OtelConfig, type OwnerClient } from '#client';
import { Slots } from '../../../concurrency/slots.ts';
import { systemRandom } from '../../../domain/credentials/random-ids.ts';
import { proxyFor } from '../../../outgoing/proxy-variables.ts';
import { jitter } from '../../../time/jitter.ts';
import { trustAuthority, type Address } from '../../connection/address.ts';
import { ownerOf } from '../../connection/clients.ts';
import { fetchTo } from '../../connection/fetch-to.ts';
import type { Column } from '../../output/columns.ts';
import { printOne, refuseId } from '../../output/print.ts';
import { FleetCounters } from '../../simulation/counters.ts';
import { isSimulated, SimulatedFleet } from '../../simulation/fleet.ts';
import { LiveLine } from '../../simulation/live-line.ts';
import type { OpampSurroundings } from '../../simulation/surroundings.ts';
import { confirmed } from '../../terminal/confirmation.ts';
import { CommandFault, EXIT } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { onInterruption } from '../../terminal/signals.ts';
import { deviceAddress, OPAMP_PATH } from './surroundings.ts';

export interface SimulateOptions {
  readonly count: number;
  /** Seconds. */
  readonly duration?: number;
  /** Seconds. */
  readonly changeEvery?: number;
  readonly protocol: 'device' | 'opamp';
  /** Seconds between the messages of an agent of OpAMP. */
  readonly interval?: number;
  /** The whole URL of the endpoint of OpAMP. */
  readonly endpoint?: string;
  readonly deviceUrl?: string;
  readonly keep: boolean;
}

/** How long a poll is held: as long as the service takes. */
const WAIT_SECONDS = 50;
const DETECT_EVERY_MS = 60_000;
/** Messages of OpAMP that are under way at once: agents share the connections. */
const MESSAGES_AT_ONCE = 64;
/** A change that was given up may still be on its way for a while; how long, nobody knows. */
const PUT_BACK_AGAIN_MS = 10_000;

/**
 * `muster agent simulate`: many daemons in this process, until the time is up or a signal ends it.
 * @throws CommandFault; ConfigError; MusterError
 */
export async function agentSimulate(call: Invocation, options: SimulateOptions): Promise<void> {
  const { clock, say } = call;
  refuseOfOpamp(options);
  // Before an app is made, not after the work.
  refuseId(call.globals.output, { columns: COLUMNS });
  const owner = ownerOf(call, { patient: true });
  const address = deviceAddress(call, options.deviceUrl);
  trustAuthority(address);
  const opamp = opampOf(address, call.env, options);
  const before = options.changeEvery === undefined ? undefined : await agreedConfig(call, owner);
  const random = systemRandom();
  const counters = new FleetCounters();
  const prefix = `simulated-${random.bytes(4).toString('hex')}`;
  const fleet = new SimulatedFleet(
    owner,
    {
      count: options.count,
      prefix,
      changeEveryMs: options.changeEvery === undefined ? undefined : options.changeEvery * 1000,
    },
    {
      url: address.url,
      fetch: fetchTo(address),
      counters,
      clock,
      jitter,
      randomBytes: (count) => random.bytes(count),
      waitSeconds: WAIT_SECONDS,
      // Agents of OpAMP have none.
      detectEveryMs: opamp ? undefined : DETECT_EVERY_MS,
      opamp,
    },
  );
  const startedAt = clock.monotonic();
  const ending = new AbortController();
  {
    using interruption = onInterruption(new CommandFault('stopped'));
    interruption.signal.addEventListener('abort', () => ending.abort(interruption.signal.reason), { once: true });
    try {
      const what = opamp ? `agents of OpAMP poll at ${opamp.endpoint}` : `daemons poll at ${address.url}`;
      say(`${options.count} ${what}; their apps are ${prefix}-….`);
      await simulated(call, fleet, counters, options, ending);
    } catch (error) {
      if (!ending.signal.aborted) throw error;
    } finally {
      ending.abort();
      await settled(call, owner, fleet, before, options);
    }
  }
  await printOne(call, {
    columns: COLUMNS,
    item: summaryOf(options, counters, (clock.monotonic() - startedAt) / 1000),
  });
}

/** @throws CommandFault for an option that daemons of the device plane have no use for */
function refuseOfOpamp({ protocol, interval, endpoint }: SimulateOptions): void {
  if (protocol === 'opamp' || (interval === undefined && endpoint === undefined)) return;
  throw new CommandFault('--interval and --endpoint are for --protocol opamp.', EXIT.usage);
}

function opampOf(address: Address, env: Invocation['env'], options: SimulateOptions): OpampSurroundings | undefined {
  if (options.protocol !== 'opamp') return undefined;
  const { endpoint = `${address.url}${OPAMP_PATH}`, interval: intervalSeconds } = options;
  // The certificate and the keeper of the device listener are those of its own address alone.
  const isThere = new URL(endpoint).origin === new URL(address.url).origin;
  const elsewhere = { proxy: proxyFor(endpoint, env) };
  return {
    endpoint,
    fetch: fetchTo(isThere ? address : elsewhere),
    intervalSeconds,
    slots: new Slots(MESSAGES_AT_ONCE),
  };
}

async function simulated(
  { clock, globals, terminal }: Invocation,
  fleet: SimulatedFleet,
  counters: FleetCounters,
  { duration }: SimulateOptions,
  ending: AbortController,
): Promise<void> {
  using line = globals.quiet ? undefined : new LiveLine(counters, terminal.stderr);
  line?.start();
  await fleet.start(ending.signal);
  if (duration !== undefined) {
    void clock.sleep(duration * 1000, ending.signal).then(() => ending.abort(new CommandFault('the time is up')));
  }
  await fleet.run(ending.signal);
}

/** Leaves the account as it was; the apps are deleted also where the configuration cannot be put back. */
async function settled(
  call: Invocation,
  owner: OwnerClient,
  fleet: SimulatedFleet,
  before: OtelConfig | undefined,
  { keep }: SimulateOptions,
): Promise<void> {
  const { clock, say } = call;
  try {
    if (before) await putBack(call, owner, before);
    if (before && fleet.changeIsUncertain) {
      say(`A change of the configuration had no answer: it is put back again in ${PUT_BACK_AGAIN_MS / 1000} s.`);
      await clock.sleep(PUT_BACK_AGAIN_MS);
      await putBack(call, owner, before);
      say('The configuration is put back; `muster otel get` shows whether it stays so.');
    }
  } catch (error) {
    say('The configuration of the account could not be put back.');
    throw error;
  } finally {
    if (!keep) {
      await fleet.remove();
      say('The apps of the simulated daemons are deleted.');
    }
  }
}

/**
 * Puts a configuration back in the place of a simulated one; what somebody else has stored meanwhile stays. A header
 * that is stored was not touched.
 */
async function putBack({ say }: Pick<Invocation, 'say'>, owner: OwnerClient, before: OtelConfig): Promise<void> {
  const { enabled, endpoint, authHeaderSet, evidenceLevel } = before;
  const { config, etag } = await owner.readTaggedOtelConfig();
  if (!isSimulated(config)) {
    if (!isDeepStrictEqual(config, before)) say('Somebody else has changed the configuration: it stays as it is.');
    return;
  }
  try {
    if (!enabled && endpoint === '' && !authHeaderSet) await owner.purgeOtelConfig({ ifMatch: etag });
    else await owner.storeOtelConfig({ enabled, endpoint, evidenceLevel }, { ifMatch: etag });
  } catch (error) {
    if (!(error instanceof MusterError) || error.code !== 'precondition_failed') throw error;
    await putBack({ say }, owner, before);
  }
}

/** The other daemons of the account receive the changes, too, and would send what they export elsewhere. */
async function agreedConfig(call: Invocation, owner: OwnerClient): Promise<OtelConfig> {
  const [config, { apps }] = await Promise.all([owner.readOtelConfig(), owner.listApps()]);
  const others = apps.filter(({ status }) => status === 'active').length;
  const what = `Change the configuration of ${others} active apps of this account meanwhile`;
  await confirmed({ what, count: others, yes: call.globals.yes }, call.terminal);
  return config;
}

interface Summary {
  readonly daemons: number;
  readonly enrolled: number;
  readonly seconds: number;
  readonly polls: number;
  readonly failedPolls: number;
  readonly changes: number;
  readonly received: number;
  readonly acknowledged: number;
  readonly detections: number;
  /** Milliseconds from a change to its receipt by a daemon; from the first receipt where others made the change. */
  readonly receiptP50Ms: number;
  readonly receiptP99Ms: number;
}

const summaryOf = ({ count }: SimulateOptions, counters: FleetCounters, seconds: number): Summary => ({
  daemons: count,
  enrolled: counters.enrolled,
  seconds: Math.round(seconds),
  polls: counters.polls,
  failedPolls: counters.failed,
  changes: counters.changes,
  received: counters.received,
  acknowledged: counters.acknowledged,
  detections: counters.detections,
  receiptP50Ms: Math.round(counters.receipts.at(0.5)),
  receiptP99Ms: Math.round(counters.receipts.at(0.99)),
});

const number = (head: string, name: keyof Summary): Column<Summary> => ({
  head,
  name,
  of: (summary) => summary[name],
  kind: 'number',
});

const COLUMNS: readonly Column<Summary>[] = [
  number('DAEMONS', 'daemons'),
  number('ENROLLED', 'enrolled'),
  number('SECONDS', 'seconds'),
  number('POLLS', 'polls'),
  number('FAILED POLLS', 'failedPolls'),
  number('CHANGES', 'changes'),
  number('CONFIGURATIONS RECEIVED', 'received'),
  number('ACKNOWLEDGED', 'acknowledged'),
  number('DETECTIONS', 'detections'),
  number('RECEIPT P50 MS', 'receiptP50Ms'),
  number('RECEIPT P99 MS', 'receiptP99Ms'),
];
