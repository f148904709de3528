import fc from 'fast-check';
import { dayAt, endOfDay } from '../../src/domain/calendar.ts';
import { KEYS } from '../../src/domain/records.ts';
import { StoreUnavailable, type Store } from '../../src/store/port.ts';
import type { FakeClock } from './fake-clock.ts';
import { call, OPERATOR_TOKEN, type Answer, type Muster, type Tenant } from './muster.ts';
import { HOUR_MS, midnightAfter, MINUTE_MS } from './nights.ts';
import type { CommitFate, UnluckyStore } from './unlucky-store.ts';
import { until } from './until.ts';
import { wrappedStore } from './wrapped-store.ts';

/* Some days of a fleet, drawn at random: what is asked of it, what goes wrong meanwhile, and how time passes. */

export type Step =
  | { readonly kind: 'act'; readonly acts: readonly Act[] }
  | { readonly kind: 'pass'; readonly ms: number | 'to midnight' | 'to before midnight' }
  | { readonly kind: 'clock'; readonly replica: number; readonly aheadMs: number }
  | { readonly kind: 'store'; readonly replica: number; readonly fates: CommitFate[] }
  | { readonly kind: 'stall'; readonly replica: number; readonly ms: number }
  | { readonly kind: 'outage'; readonly replica: number; readonly down: boolean }
  | { readonly kind: 'controller'; readonly replica: number; readonly down: boolean }
  | { readonly kind: 'restart'; readonly replica: number; readonly awayMs: number };

interface Act {
  readonly what: 'account' | 'create' | 'enroll' | 'revoke' | 'remove' | 'disable' | 'enable';
  readonly replica: number;
  readonly slot: number;
}

const replica = fc.nat(1);
const WHAT = [
  ...(['create', 'enroll', 'enroll', 'enroll', 'enroll', 'revoke', 'revoke', 'remove'] as const),
  ...(['disable', 'enable', 'enable', 'account'] as const),
] as const;
const act = fc.record({ what: fc.constantFrom<Act['what']>(...WHAT), replica, slot: fc.nat(7) });
const kind = <Kind extends Step['kind']>(of: Kind): fc.Arbitrary<Kind> => fc.constant(of);
const pass = fc.oneof(
  fc.constantFrom('to midnight' as const, 'to before midnight' as const),
  fc.constantFrom(1, 300, MINUTE_MS, 5 * MINUTE_MS, HOUR_MS, 3 * 24 * HOUR_MS),
  fc.nat(30 * HOUR_MS),
);
const fate = fc.constantFrom<CommitFate>('answer lost after commit', 'lost before commit', 'conflict', 'passes');

/** Each with its weight. */
export const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: kind('act'), acts: fc.array(act, { minLength: 1, maxLength: 4 }) }) },
  { weight: 6, arbitrary: fc.record({ kind: kind('pass'), ms: pass }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: kind('clock'), replica, aheadMs: fc.integer({ min: -12_000, max: 12_000 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: kind('store'), replica, fates: fc.array(fate, { maxLength: 4 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: kind('stall'), replica, ms: fc.constantFrom(1, 500, 10_000, 7 * MINUTE_MS) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: kind('outage'), replica, down: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('controller'), replica, down: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: kind('restart'), replica, awayMs: fc.constantFrom(0, MINUTE_MS, 50 * HOUR_MS) }),
  },
);

/** One running service of the fleet, and what troubles it. */
export interface Member {
  readonly muster: Muster;
  readonly store: UnluckyStore;
  readonly clock: FakeClock;
  readonly trouble: Trouble;
}

export interface Trouble {
  /** No night is written by this one. */
  controllerDown: boolean;
  /** What happens while its next change of an app or account is on its way. */
  stall: (() => void) | undefined;
}

export const troubled = (store: Store, trouble: Trouble): Store =>
  wrappedStore(store, {
    commit: async (change) => {
      const keys = change.write.map((write) => ('put' in write ? write.put : ''));
      if (trouble.controllerDown && keys.some((key) => key.startsWith('ledger/') || key === KEYS.metered)) {
        throw new StoreUnavailable('unreachable', 'the controller is cut off');
      }
      const { stall } = trouble;
      if (stall && keys.some((key) => key.startsWith(KEYS.auditsAll))) {
        trouble.stall = undefined;
        stall();
        // Whoever woke up meanwhile has its turn first.
        for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      }
      return await store.commit(change);
    },
  });

/** @param open starts the service of that number, with that clock; as often as it is restarted */
export class WanderingFleet implements AsyncDisposable {
  readonly members: Member[] = [];
  readonly #open: (number: number, awayMs: number) => Promise<Member>;
  readonly #tenants: Tenant[] = [];
  readonly #apps = new Map<number, { owner: Tenant; appId: string; code: string }>();

  /** The right time, which all clocks are near. */
  #now: number;

  private constructor(now: number, open: (number: number, awayMs: number) => Promise<Member>) {
    this.#now = now;
    this.#open = open;
  }

  static async start(
    size: number,
    now: number,
    open: (number: number, awayMs: number) => Promise<Member>,
  ): Promise<WanderingFleet> {
    const fleet = new WanderingFleet(now, open);
    for (let number = 0; number < size; number += 1) fleet.members.push(await open(number, 0));
    await fleet.#act({ what: 'account', replica: 0, slot: 0 });
    return fleet;
  }

  member(number: number): Member {
    const member = this.members[number % this.members.length];
    if (!member) throw new Error('a fleet has members');
    return member;
  }

  async take(step: Step): Promise<void> {
    const member = 'replica' in step ? this.member(step.replica) : this.member(0);
    if (step.kind === 'act') await Promise.all(step.acts.map((one) => this.#act(one)));
    else if (step.kind === 'pass') await this.#pass(step.ms);
    else if (step.kind === 'clock') member.clock.jump(step.aheadMs + this.#now - member.clock.now());
    else if (step.kind === 'store') member.store.fates.push(...step.fates);
    else if (step.kind === 'stall') member.trouble.stall = () => this.#advance(step.ms);
    else if (step.kind === 'outage') member.store.outage(step.down);
    else if (step.kind === 'controller') member.trouble.controllerDown = step.down;
    else if (step.kind === 'restart') await this.#restart(step.replica % this.members.length, step.awayMs);
  }

  #advance(ms: number): void {
    this.#now += ms;
    for (const { clock } of this.members) clock.advance(ms);
  }

  async #pass(ms: Extract<Step, { kind: 'pass' }>['ms']): Promise<void> {
    const left = midnightAfter(this.#now) - this.#now;
    if (typeof ms === 'number') this.#advance(ms);
    else this.#advance(ms === 'to midnight' ? left : Math.max(0, left - 1));
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }

  async #restart(number: number, awayMs: number): Promise<void> {
    const member = this.member(number);
    await member.muster[Symbol.asyncDispose]();
    this.#now += awayMs;
    for (const other of this.members) if (other !== member) other.clock.advance(awayMs);
    this.members[number] = await this.#open(number, awayMs);
  }

  /** What is refused or lost is no matter: the audit tells what happened. */
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

  /** All troubles end, a day passes, and every night up to now is metered. Returns the last one. */
  async settle(): Promise<string> {
    for (const { store, trouble } of this.members) {
      store.outage(false);
      store.fates.length = 0;
      Object.assign(trouble, { controllerDown: false, stall: undefined });
    }
    const last = dayAt(this.#now);
    this.#advance(endOfDay(last) - this.#now + 6 * MINUTE_MS);
    const { store } = this.member(0);
    await until(async () => {
      this.#advance(1000);
      const through = JSON.parse((await store.get(KEYS.metered))?.value ?? '{}') as { through?: string };
      return (through.through ?? '') >= last;
    });
    return last;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { muster } of this.members) await muster[Symbol.asyncDispose]();
  }
}
