import { accountNamed } from '../../connection/accounts.ts';
import { operatorOf, requestOf } from '../../connection/clients.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { resourceNameLike, yamlOf } from '../../output/manifests.ts';

export interface AdoptAccountOptions {
  readonly namespace: string;
  readonly namespaceUid?: string;
  /** The name of the FleetAccount; one like the account's without it. */
  readonly name?: string;
}

/**
 * `muster accounts adopt`: consents that a FleetAccount takes the account over, and prints that FleetAccount.
 * @throws CommandFault, ConfigError, MusterError
 */
export async function adoptAccount(call: Invocation, account: string, options: AdoptAccountOptions): Promise<void> {
  const operator = operatorOf(call);
  const found = await accountNamed(operator, account, requestOf(call));
  const { accountId } = found;
  const { namespace, namespaceUid, name = resourceNameLike(found.name, accountId) } = options;
  const {
    disabled,
    entitlement,
    adoptableUntil = '',
  } = await operator.changeAccount(
    accountId,
    { adoptableBy: `${namespace}/${name}`, ...(namespaceUid !== undefined && { namespaceUid }) },
    requestOf(call),
  );
  call.say(`The FleetAccount ${namespace}/${name} may adopt the account ${accountId}, once, until ${adoptableUntil}.`);
  const spec = {
    adoptAccountId: accountId,
    displayName: found.name,
    entitlement,
    ...(disabled && { disabled }),
    deletionPolicy: 'Retain',
  };
  const manifest = {
    apiVersion: 'muster.dev/v1beta1',
    kind: 'FleetAccount',
    metadata: { name, namespace },
    spec,
  } as const;
  await call.terminal.stdout.write(yamlOf(manifest));
}
