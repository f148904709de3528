import type { Clock } from '../../time/clock.ts';
import { OPERATOR_AUDIT, userOfActor } from '../records/audit-records.ts';
import type { AccountRecord } from '../records/account-records.ts';
import type { WriteClass } from '../../store/port.ts';
import { MIB, quotaBytesOf, storedBytesOf, type AccountStorage, type QuotaDeps } from './account-quota.ts';
import { isOwnActor } from '../audit/own-bytes.ts';
import { Busy } from '../refusal.ts';
import { OwnActs } from './own-acts.ts';

/** The origin of a change, as far as a quota concerns it. */
interface Writer {
  readonly actor: string;
  /** The user makes the change as an operator of the installation. */
  readonly asOperator?: boolean;
}

/** The change that is about to be committed. */
interface Growth {
  readonly accountId: string;
  readonly action: string;
  readonly writeClass: WriteClass;
}

/** The bounds in bytes of what accounts and persons bring about (A16). */
export interface Quotas {
  /** Refuses the growth of an account at its quota, by its own keys and people. @throws Busy `quota` */
  refuseAtQuota(writer: Writer, growth: Growth): void;
  /** Counts what a person does that stands in the audit of the service. @throws Refusal `rate_limited` */
  countOwnAct(writer: Writer, growth: Pick<Growth, 'accountId' | 'action'>): void;
  /** The bytes that an account stores of its own, as memory has them. */
  storage(account: Pick<AccountRecord, 'quotaMb'> & { readonly accountId: string }): AccountStorage;
}

export function createQuotas({
  fleet,
  accountQuotaMb,
  clock,
}: QuotaDeps & { readonly clock: Pick<Clock, 'monotonic'> }): Quotas {
  const ownActs = new OwnActs(clock);
  return {
    refuseAtQuota({ actor, asOperator }, { accountId, writeClass }) {
      if (writeClass !== 'growth' || asOperator === true || !isOwnActor(actor)) return;
      const account = fleet.memory.account(accountId);
      const quotaBytes = account && quotaBytesOf(account.record, accountQuotaMb);
      if (quotaBytes === undefined || storedBytesOf(account?.stored()?.record) < quotaBytes) return;
      throw new Busy(
        'quota',
        `The account has used up its quota of ${quotaBytes / MIB} MiB of records and audit. Revoking, deleting and ` +
          'purging go on; for anything else ask the operator of this service to raise the quota.',
      );
    },
    countOwnAct({ actor, asOperator }, { accountId, action }) {
      const userId = userOfActor(actor);
      // The bound is the person's, with the session and every access token.
      if (accountId === OPERATOR_AUDIT && asOperator !== true && userId !== undefined) ownActs.count(userId, action);
    },
    storage: ({ accountId, quotaMb = accountQuotaMb }) => ({
      storedBytes: storedBytesOf(fleet.memory.account(accountId)?.stored()?.record),
      quotaMb,
    }),
  };
}
