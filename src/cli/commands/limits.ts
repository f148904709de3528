import process from 'node:process';
import { say } from '../terminal/exit.ts';
import { connectionOf } from '../terminal/service-address.ts';
import { ServiceClient } from '../terminal/service-client.ts';
import { table } from '../terminal/table.ts';

interface RateLimits {
  /** Accounts that were refused in the last minute. */
  readonly limited: number;
  readonly accounts: readonly {
    readonly accountId: string;
    readonly fill: number;
    readonly refused: number;
    readonly refusedBy: readonly { readonly keyId: string; readonly operation: string; readonly refused: number }[];
    readonly limitedSince: string | null;
    readonly liftsAt: string | null;
  }[];
}

export interface LimitsOptions {
  readonly top: string;
  readonly output: 'table' | 'json';
}

/**
 * `muster limits`: the accounts that are limited, or near it, and by which key and operation.
 * @throws CommandFault, ConfigError
 */
export async function limits(env: NodeJS.ProcessEnv, { top, output }: LimitsOptions): Promise<void> {
  const path = `/operator/v1/rate-limits?${new URLSearchParams({ top }).toString()}`;
  const found = await new ServiceClient(connectionOf(env)).json<RateLimits>(path);
  process.stdout.write(output === 'json' ? `${JSON.stringify(found, undefined, 2)}\n` : tableOf(found));
  if (found.accounts.length === 0) say('No account is limited, and none has used a quarter of its requests.');
}

/** An account has a row for each key and operation that was refused, or one without. */
function tableOf({ accounts }: RateLimits): string {
  const rows = accounts.flatMap(({ accountId, fill, refused, refusedBy, limitedSince, liftsAt }) => {
    const of = [accountId, `${(fill * 100).toFixed(0)} %`, refused, limitedSince ?? '-', liftsAt ?? '-'];
    const by = refusedBy.length > 0 ? refusedBy : [{ keyId: '-', operation: '-', refused: 0 }];
    return by.map((one) => [...of, one.keyId, one.operation, one.refused]);
  });
  return table(['ACCOUNT', 'FILL', 'REFUSED', 'LIMITED SINCE', 'LIFTS AT', 'KEY', 'OPERATION', 'OF IT'], rows);
}
