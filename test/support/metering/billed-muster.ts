import { earlierAccount } from '../records/earlier-account.ts';
import { call, OPERATOR_TOKEN, type Answer, type Muster, type MusterOptions } from '../service/muster.ts';
import type { Backend } from '../store/backends.ts';
import { faultyStore, type FaultyStore } from '../store/faulty-store.ts';
import type { FakeClock } from '../time/fake-clock.ts';
import { ledgerNight, seed, type SeededNight } from './seeded-ledger.ts';

/** A body of `GET /operator/v1/usage`. */
export interface UsageBody {
  readonly month: string;
  readonly currency: string;
  readonly pricePerDaemonMonth: string | null;
  readonly complete: boolean;
  readonly accounts: readonly { accountId: string; name: string; nights: object[]; amountMinor: number }[];
  readonly total: { daemonNights: number; amountMinor: number };
  readonly next?: string;
}

/** @param target the query, or the whole target behind the host */
const askUsage = (muster: Pick<Muster, 'ops'>, target: string, accept?: string): Promise<Answer> =>
  call(`${muster.ops}${target.startsWith('/') ? '' : '/operator/v1/usage'}${target}`, {
    token: OPERATOR_TOKEN,
    ...(accept !== undefined && { headers: { accept } }),
  });

/** @throws Error with the answer, where it is a refusal: a test that goes on without the body proves nothing */
export async function usageBodyOf(muster: Pick<Muster, 'ops'>, target: string): Promise<UsageBody> {
  const { status, text, body } = await askUsage(muster, target);
  if (status !== 200) throw new Error(`${target} is answered ${status}: ${text}`);
  return body as unknown as UsageBody;
}

/** A Muster whose ledger a test writes: nothing in it meters. */
export class BilledMuster implements AsyncDisposable {
  readonly muster: Muster;
  readonly store: FaultyStore;

  private constructor(muster: Muster, store: FaultyStore) {
    this.muster = muster;
    this.store = store;
  }

  static async start(
    backend: Backend,
    clock: FakeClock,
    options: Pick<MusterOptions, 'deadlines'> = {},
  ): Promise<BilledMuster> {
    let store: FaultyStore | undefined;
    const muster = await backend.fresh({
      ...options,
      wrapStore: (real) => (store = faultyStore(real)),
      clock,
      env: { MUSTER_ROLES: 'api,device', MUSTER_PRICE_PER_DAEMON_MONTH: '7.50' },
    });
    if (!store) throw new Error('the store was not opened');
    return new BilledMuster(muster, store);
  }

  usage(target: string, accept?: string): Promise<Answer> {
    return askUsage(this.muster, target, accept);
  }

  bodyOf(target: string): Promise<UsageBody> {
    return usageBodyOf(this.muster, target);
  }

  /** An account with a name of an earlier version, which judged none. @returns its id */
  async earlierAccount(name: string): Promise<string> {
    return await earlierAccount(this.muster, this.store, name);
  }

  /** Creates an account and returns its id. */
  async account(name: string): Promise<string> {
    const body = { name, entitlement: 'standard' };
    const url = `${this.muster.ops}/operator/v1/accounts`;
    const created = await call(url, { method: 'POST', token: OPERATOR_TOKEN, body });
    return String(created.body['accountId']);
  }

  async ledger(accountId: string, ...nights: SeededNight[]): Promise<void> {
    const writes = nights.map((night) => ledgerNight(accountId, night));
    await seed(this.store, writes);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.muster[Symbol.asyncDispose]();
  }
}
