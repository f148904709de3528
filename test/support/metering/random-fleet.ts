import { KEYS } from '../../../src/domain/records/keys.ts';
import { StoreUnavailable, type Store } from '../../../src/store/port.ts';
import { dayAt, endOfDay } from '../../../src/time/utc-days.ts';
import { call, OPERATOR_TOKEN, type Answer, type Muster, type Tenant } from '../service/muster.ts';
import type { FaultyStore } from '../store/faulty-store.ts';
import { wrappedStore } from '../store/wrapped-store.ts';
import type { FakeClock } from '../time/fake-clock.ts';
import { until } from '../time/until.ts';
import { midnightAfter, MINUTE_MS } from './metering.ts';
import type { Act, Midnight, Step } from './random-steps.ts';

/** One running service of the fleet, and its faults. */
export interface Member {
  readonly muster: Muster;
  readonly store: FaultyStore;
  readonly clock: FakeClock;
  readonly faults: Faults;
}

export interface Faults {
  /** The controller of this service cannot write a night. */
  controllerDown: boolean;
  /** It is called while the next change of a status is on its way. */
  stall: (() => void) | undefined;
}

export const faultyMetering = (store: Store, faults: Faults): Store =>
  wrappedStore(store, {
    commit: async (change) => {
      const keys = change.write.map((write) => ('put' in write ? write.put : ''));
      if (faults.controllerDown && keys.some((key) => key.startsWith('ledger/') || key === KEYS.metered())) {
        throw new StoreUnavailable('unreachable', 'the controller is cut off');
      }
      const { stall } = faults;
      if (stall && keys.some((key) => key.startsWith(KEYS.statusChange.under()))) {
        faults.stall = undefined;
        stall();
        // Tasks that woke up meanwhile have their turn first.
        for (let turn = 0; turn < 200; turn += 1) {
          await store.get(KEYS.metered());
          await turns(1);
        }
      }
      return await store.commit(change);
    },
  });

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Some services that take random steps. @param open starts the service of that number, also after each restart */
export class RandomFleet implements AsyncDisposable {
  readonly members: Member[] = [];
  readonly #open: (number: number, awayMs: number) => Promise<Member>;
  readonly #tenants: Tenant[] = [];
  readonly #apps = new Map<number, { owner: Tenant; appId: string; code: string }>();

  /** The true time, which all clocks are near. */
  #now: number;

  private constructor(now: number, open: (number: number, awayMs: number) => Promise<Member>) {
    this.#now = now;
    this.#open = open;
  }

  static async start(
    size: number,
    now: number,
    open: (number: number, awayMs: number) => Promise<Member>,
  ): Promise<RandomFleet> {
    const fleet = new RandomFleet(now, open);
    for (let number = 0; number < size; number += 1) fleet.members.push(await open(number, 0));
    await fleet.#act({ what: 'account', replica: 0, slot: 0 });
    return fleet;
  }

  member(number: number): Member {
    const member = this.members[number % this.members.length];
    if (!member) throw new Error('a fleet has members');
    return member;
  }

  /** Takes a step. Resolves when all its requests are answered. */
  async take(step: Step): Promise<void> {
    const member = 'replica' in step ? this.member(step.replica) : this.member(0);
    if (step.kind === 'act') await Promise.all(step.acts.map((one) => this.#act(one)));
    else if (step.kind === 'pass') await this.#pass(step.ms);
    else if (step.kind === 'midnight') await this.#midnight(step);
    else if (step.kind === 'clock') this.#setClock(step.replica, step.aheadMs);
    else if (step.kind === 'store') member.store.fates.push(...step.fates);
    else if (step.kind === 'stall') member.faults.stall = () => this.#advance(step.ms);
    else if (step.kind === 'outage') member.store.outage(step.down);
    else if (step.kind === 'controller') member.faults.controllerDown = step.down;
    else if (step.kind === 'restart') await this.#restart(step.replica % this.members.length, step.awayMs);
  }

  #setClock(number: number, aheadMs: number): void {
    const { clock } = this.member(number);
    clock.jump(aheadMs + this.#now - clock.now());
  }

  async #midnight({ aheadMs, offsetMs, first, stalledMs, meanwhile, last }: Midnight): Promise<void> {
    const [one, other] = aheadMs;
    this.#setClock(0, one);
    this.#setClock(1, other);
    const left = midnightAfter(this.#now) - this.#now + offsetMs;
    this.#advance(Math.max(0, left));
    await turns(20);
    const { faults } = this.member(first[0]?.replica ?? 0);
    const late: Promise<void>[] = [];
    faults.stall = () => {
      this.#advance(stalledMs);
      for (const act of meanwhile) late.push(this.#act(act));
    };
    await Promise.all(first.map((act) => this.#act(act)));
    await Promise.all(late);
    faults.stall = undefined;
    this.#setClock(0, other);
    this.#setClock(1, one);
    await Promise.all(last.map((act) => this.#act(act)));
  }

  #advance(ms: number): void {
    this.#now += ms;
    for (const { clock } of this.members) clock.advance(ms);
  }

  async #pass(ms: Extract<Step, { kind: 'pass' }>['ms']): Promise<void> {
    const left = midnightAfter(this.#now) - this.#now;
    if (typeof ms === 'number') this.#advance(ms);
    else this.#advance(ms === 'to midnight' ? left : Math.max(0, left - 1));
    await turns(20);
  }

  async #restart(number: number, awayMs: number): Promise<void> {
    const member = this.member(number);
    await member.muster[Symbol.asyncDispose]();
    this.#now += awayMs;
    for (const other of this.members) if (other !== member) other.clock.advance(awayMs);
    this.members[number] = await this.#open(number, awayMs);
  }

  /** A refused or lost request does not matter: the audit tells what happened. */
  async #act({ what, replica, slot }: Act): Promise<void> {
    const { muster } = this.member(replica);
    const accounts = `${muster.ops}/operator/v1/accounts`;
    const owner = this.#tenants[slot % Math.max(1, this.#tenants.length)];
    if (what === 'account' && this.#tenants.length < 3) return await this.#makeTenant(muster);
    if (!owner) return;
    if (what === 'disable' || what === 'enable') {
      const body = { disabled: what === 'disable' };
      await call(`${accounts}/${owner.accountId}`, { method: 'PATCH', token: OPERATOR_TOKEN, body });
    } else await this.#actOnApp(muster, what, slot, owner);
  }

  async #makeTenant({ ops }: Muster): Promise<void> {
    const accounts = `${ops}/operator/v1/accounts`;
    const body = { name: 'one', entitlement: 'standard' };
    const { status, body: account } = await call(accounts, { method: 'POST', token: OPERATOR_TOKEN, body });
    if (status !== 201) return;
    const accountId = String(account['accountId']);
    const key = await call(`${accounts}/${accountId}/api-keys`, { method: 'POST', token: OPERATOR_TOKEN });
    if (key.status !== 201) return;
    this.#tenants.push({ accountId, keyId: String(key.body['keyId']), apiKey: String(key.body['apiKey']) });
  }

  async #actOnApp(muster: Muster, what: Act['what'], slot: number, maker: Tenant): Promise<void> {
    let app = this.#apps.get(slot);
    const ask = (method: string, path: string): Promise<Answer> =>
      call(`${muster.api}/v1/apps${path}`, { method, token: (app?.owner ?? maker).apiKey });
    if (!app && (what === 'create' || what === 'enroll')) {
      const { status, body } = await ask('POST', '');
      if (status !== 201) return;
      app = { owner: maker, appId: String(body['appId']), code: String(body['enrollCode']) };
      this.#apps.set(slot, app);
    } else if (app && what === 'enroll') {
      const { body } = await ask('POST', `/${app.appId}/enroll-code`);
      if (typeof body['enrollCode'] === 'string') app.code = body['enrollCode'];
    }
    if (!app) return;
    if (what === 'enroll') {
      const body = { appId: app.appId, enrollCode: app.code, connection: 'cloud', platform: '', agentVersion: '' };
      await call(`${muster.device}/device/v1/enroll`, { method: 'POST', body });
    } else if (what === 'revoke') await ask('POST', `/${app.appId}/revoke`);
    else if (what === 'remove' && (await ask('DELETE', `/${app.appId}`)).status === 204) this.#apps.delete(slot);
  }

  /** Ends all faults, lets a day pass, and waits until every night is metered. Returns the last one. */
  async settle(): Promise<string> {
    for (const { store, faults } of this.members) {
      store.outage(false);
      store.fates.length = 0;
      Object.assign(faults, { controllerDown: false, stall: undefined });
    }
    const last = dayAt(this.#now);
    this.#advance(endOfDay(last) - this.#now + 6 * MINUTE_MS);
    const { store } = this.member(0);
    await until(async () => {
      this.#advance(1000);
      const through = JSON.parse((await store.get(KEYS.metered()))?.value ?? '{}') as { through?: string };
      return (through.through ?? '') >= last;
    });
    return last;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { muster } of this.members) await muster[Symbol.asyncDispose]();
  }
}
