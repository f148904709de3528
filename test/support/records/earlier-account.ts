import { KEYS } from '../../../src/domain/records/keys.ts';
import type { Store } from '../../../src/store/port.ts';
import { rewrite } from '../panel/panel-users.ts';
import { call, OPERATOR_TOKEN, type Muster } from '../service/muster.ts';

/** An account with a name of an earlier version, which judged none: it may hold anything. @returns its id */
export async function earlierAccount(muster: Pick<Muster, 'ops'>, store: Store, name: string): Promise<string> {
  const body = { name: 'earlier', entitlement: 'standard' };
  const created = await call(`${muster.ops}/operator/v1/accounts`, { method: 'POST', token: OPERATOR_TOKEN, body });
  const accountId = String(created.body['accountId']);
  await rewrite({ store }, KEYS.account(accountId), (record) => ({ ...record, name }));
  return accountId;
}
