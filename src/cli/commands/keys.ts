import process from 'node:process';
import { say } from '../terminal/exit.ts';
import { connectionOf } from '../terminal/service-address.ts';
import { ServiceClient } from '../terminal/service-client.ts';
import { table } from '../terminal/table.ts';

interface KeyStatus {
  readonly writing: number;
  readonly known: readonly number[];
  readonly replicas: readonly { readonly replicaId: string; readonly keyNumbers: readonly number[] }[];
  readonly sealedUnder: Readonly<Record<string, number>>;
  readonly countedAll: boolean;
  readonly awaitingRetirement: Readonly<Record<string, number>>;
  readonly removable: readonly number[];
}

/**
 * `muster keys status`: by key, how much is sealed under it, which replicas know it, and whether its line may be
 * removed.
 * @throws CommandFault, ConfigError
 */
export async function keyStatus(env: NodeJS.ProcessEnv, { output }: { output: 'table' | 'json' }): Promise<void> {
  const status = await new ServiceClient(connectionOf(env)).json<KeyStatus>('/operator/v1/keys');
  process.stdout.write(output === 'json' ? `${JSON.stringify(status, undefined, 2)}\n` : tableOf(status));
  if (!status.countedAll) say('There are more sealed idempotency records than were counted.');
}

function tableOf(status: KeyStatus): string {
  const { writing, known, replicas, sealedUnder, awaitingRetirement, removable } = status;
  const named = [...known, ...Object.keys(sealedUnder).map(Number), ...Object.keys(awaitingRetirement).map(Number)];
  const numbers = [...new Set(named)].sort((a, b) => a - b);
  const rows = numbers.map((number) => [
    number,
    sealedUnder[number] ?? 0,
    awaitingRetirement[number] ?? 0,
    `${replicas.filter(({ keyNumbers }) => keyNumbers.includes(number)).length} of ${replicas.length}`,
    stateOf(number, { writing, known, removable }),
  ]);
  return table(['KEY', 'SEALS', 'PURGED', 'KNOWN BY', 'STATE'], rows);
}

function stateOf(number: number, status: Pick<KeyStatus, 'writing' | 'known' | 'removable'>): string {
  if (number === status.writing) return 'active';
  if (!status.known.includes(number)) return 'not in the key file';
  if (status.removable.includes(number)) return 'may be removed';
  return number > status.writing ? 'ready for `muster keys rotate`' : 'opens only';
}

/**
 * `muster keys rotate`: makes the newest key of the key file the active one.
 * @throws CommandFault, ConfigError
 */
export async function rotateKeys(env: NodeJS.ProcessEnv): Promise<void> {
  const client = new ServiceClient(connectionOf(env));
  const { writing, before } = await client.json<{ writing: number; before: number }>('/operator/v1/keys/rotation', {
    method: 'POST',
  });
  if (writing === before)
    say(`Key ${writing} is active already: add a line with a greater number to the key file first.`);
  else say(`Key ${writing} is active from now on; what key ${before} sealed is rewrapped in the background.`);
  say('`muster keys status` tells when older lines may be removed.');
}
