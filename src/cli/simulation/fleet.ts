import { MusterError, type OtelConfig, type OwnerClient, type StoreOtelConfigRequest } from '#client';
import { allEnded, inParallel } from '../../concurrency/in-parallel.ts';
import { SimulatedDaemon, type Enrollment } from './daemon.ts';
import type { DaemonSurroundings } from './surroundings.ts';

/** A simulated fleet does these beside polling; what is undefined it never does. */
interface FleetPlan {
  readonly count: number;
  /** Its apps have this name and a number. */
  readonly prefix: string;
  /** The owner changes the configuration. */
  readonly changeEveryMs?: number | undefined;
  /** A machine gets a newer version of the daemon. */
  readonly upgradeEveryMs?: number | undefined;
  /** The owner cuts a daemon off, deletes its app, and sets another machine up in its place. */
  readonly replaceEveryMs?: number | undefined;
}

/** So many apps are made, or deleted, side by side; the client keeps within the account's rate. */
const AT_ONCE = 16;
const NEW_MACHINE_AFTER_MS = 2000;
/** Changes that are under way at the end have so long: ended earlier, nobody knows whether they are carried out yet. */
const CHANGES_END_WITHIN_MS = 5000;
/** Only somebody else who makes apps of the same names needs so many. */
const REMOVALS_MAX = 10;

/** Whether a configuration is one that a simulated fleet has stored: nobody else exports to such an address. */
export const isSimulated = ({ enabled, endpoint }: OtelConfig): boolean =>
  enabled && /^https:\/\/otel-\d+\.example\.com$/.test(endpoint);

interface Member {
  readonly name: string;
  appId: string;
  daemon: SimulatedDaemon;
  /** Resolves when the daemon was cut off. */
  ended: Promise<void>;
}

/** Simulated daemons with their owner. All of them speak to the service by HTTP, as they would from elsewhere. */
export class SimulatedFleet {
  readonly #owner: OwnerClient;
  readonly #plan: FleetPlan;
  readonly #surroundings: DaemonSurroundings;
  readonly #members: Member[];
  #changeIsUncertain = false;
  #hasChanged = false;

  constructor(owner: OwnerClient, plan: FleetPlan, surroundings: DaemonSurroundings) {
    this.#owner = owner;
    this.#plan = plan;
    this.#surroundings = surroundings;
    const digits = String(plan.count).length;
    this.#members = Array.from({ length: plan.count }, (_, index) => ({
      name: `${plan.prefix}-${String(index + 1).padStart(digits, '0')}`,
      appId: '',
      daemon: new SimulatedDaemon(surroundings),
      ended: Promise.resolve(),
    }));
  }

  /**
   * Enrolls all daemons, which poll from then on. A daemon of an earlier run has an app already. No create is under way
   * when it has resolved or rejected.
   * @throws MusterError
   */
  async start(signal: AbortSignal): Promise<void> {
    const { apps } = await this.#owner.listApps({ signal });
    const known = new Map(apps.map(({ name, appId }) => [name, appId]));
    await inParallel(this.#members, { atOnce: AT_ONCE, signal }, (member) =>
      this.#setUp(member, known.get(member.name), signal),
    );
  }

  /** A change of the configuration had no answer, and may be carried out yet. */
  get changeIsUncertain(): boolean {
    return this.#changeIsUncertain;
  }

  /**
   * Follows the plan. When it has rejected, no create is under way, and no change but one that is `changeIsUncertain`.
   * @throws MusterError; whatever ends the work of the signal
   */
  async run(signal: AbortSignal): Promise<never> {
    const { changeEveryMs, upgradeEveryMs, replaceEveryMs } = this.#plan;
    const failing = new AbortController();
    const either = AbortSignal.any([signal, failing.signal]);
    await allEnded(
      [
        this.#every(changeEveryMs, either, () => this.#change(either)),
        this.#every(upgradeEveryMs, either, () => this.#anyMember().daemon.upgrade()),
        this.#every(replaceEveryMs, either, () => this.#replace(this.#anyMember(), either)),
      ],
      (error) => failing.abort(error),
    );
    throw signal.reason;
  }

  /**
   * Deletes the apps of the fleet, also one whose creation has had no answer, until none is left. It follows the end of
   * `start` and `run`.
   * @throws MusterError; Error where somebody goes on making apps of these names
   */
  async remove(): Promise<void> {
    for (let round = 0; round < REMOVALS_MAX; round += 1) {
      const { apps } = await this.#owner.listApps();
      const own = apps.filter(({ name }) => name.startsWith(`${this.#plan.prefix}-`));
      if (own.length === 0) return;
      await inParallel(own, { atOnce: AT_ONCE }, ({ appId }) => this.#owner.deleteApp(appId));
    }
    throw new Error(`Apps of the name ${this.#plan.prefix}-… are created as fast as they are deleted.`);
  }

  async #setUp(member: Member, appId: string | undefined, signal: AbortSignal): Promise<void> {
    const enrollment: Enrollment =
      appId === undefined
        ? await this.#create(member.name, signal)
        : { appId, ...(await this.#owner.issueEnrollCode(appId, { signal })) };
    member.appId = enrollment.appId;
    member.daemon = new SimulatedDaemon(this.#surroundings);
    member.ended = member.daemon.run(enrollment, signal);
    // A caller that waits for the end gets the error; while none waits, it is no unhandled rejection.
    member.ended.catch(() => undefined);
  }

  #create(name: string, signal: AbortSignal): Promise<Enrollment> {
    return this.#ending(signal, (late) => this.#owner.createApp({ name }, { signal: late }));
  }

  /** Sends what is waited for also at the end, since one that is left alone may be carried out after it. */
  async #ending<Answer>(signal: AbortSignal, send: (late: AbortSignal) => Promise<Answer>): Promise<Answer> {
    signal.throwIfAborted();
    const [over, late] = [new AbortController(), new AbortController()];
    const onAbort = (): void =>
      void this.#surroundings.clock.sleep(CHANGES_END_WITHIN_MS, over.signal).then(() => late.abort(signal.reason));
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await send(late.signal);
    } finally {
      over.abort();
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** A configuration that somebody else has stored meanwhile is left as it is. */
  async #change(signal: AbortSignal): Promise<void> {
    const { clock, counters } = this.#surroundings;
    const { config, etag } = await this.#owner.readTaggedOtelConfig({ signal });
    if (this.#hasChanged && !isSimulated(config)) return;
    const endpoint = `https://otel-${counters.changes + 1}.example.com`;
    // Without `authHeader`: a header that is stored stays.
    const body: StoreOtelConfigRequest = {
      enabled: true,
      endpoint,
      evidenceLevel: counters.changes % 2 === 0 ? 'redacted' : 'hashes',
    };
    counters.changing(endpoint, clock.monotonic());
    try {
      await this.#ending(signal, (late) => this.#owner.storeOtelConfig(body, { signal: late, ifMatch: etag }));
      this.#hasChanged = true;
    } catch (error) {
      if (error instanceof MusterError && error.code === 'precondition_failed') return;
      this.#changeIsUncertain ||= error instanceof MusterError && error.mayBeDone;
      throw error;
    }
  }

  async #replace(member: Member, signal: AbortSignal): Promise<void> {
    const { clock, counters } = this.#surroundings;
    await this.#owner.revokeApp(member.appId, { signal });
    const answeredAt = clock.monotonic();
    await this.#ended(member, signal);
    counters.revoked += 1;
    counters.slowestCutOffMs = Math.max(counters.slowestCutOffMs, clock.monotonic() - answeredAt);
    await clock.sleep(NEW_MACHINE_AFTER_MS, signal);
    await this.#owner.deleteApp(member.appId, { signal });
    await this.#setUp(member, undefined, signal);
  }

  /** Resolves when it is cut off. @throws the reason of the signal */
  async #ended(member: Member, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const either = AbortSignal.any([signal, over.signal]);
    await Promise.race([member.ended, this.#surroundings.clock.sleep(IDLE_MS, either)]).finally(() => over.abort());
    signal.throwIfAborted();
  }

  #anyMember(): Member {
    const member = this.#members[Math.floor(this.#surroundings.jitter() * this.#members.length)];
    if (!member) throw new Error('a fleet without daemons');
    return member;
  }

  async #every(pauseMs: number | undefined, signal: AbortSignal, act: () => Promise<void> | void): Promise<void> {
    while (!signal.aborted) {
      await this.#surroundings.clock.sleep(pauseMs ?? IDLE_MS, signal);
      if (pauseMs !== undefined && !signal.aborted) await act();
    }
  }
}

/** A part of the plan that never happens waits for the end. */
const IDLE_MS = 3_600_000;
