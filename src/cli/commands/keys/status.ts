import type { KeyStatus } from '#client';
import { operatorOf, requestOf } from '../../connection/clients.ts';
import type { Column } from '../../output/columns.ts';
import { printList } from '../../output/print.ts';
import type { Invocation } from '../../terminal/invocation.ts';

interface Key {
  readonly number: number;
  readonly seals: number;
  readonly purged: number;
  /** How many of the live replicas know it. */
  readonly knownBy: number;
  readonly replicas: number;
  readonly state: string;
}

const COLUMNS: readonly Column<Key>[] = [
  { head: 'KEY', field: 'number', kind: 'number' },
  { head: 'SEALS', field: 'seals', kind: 'number' },
  { head: 'PURGED', field: 'purged', kind: 'number' },
  { head: 'KNOWN BY', of: ({ knownBy, replicas }) => `${knownBy} of ${replicas}`, kind: 'number' },
  { head: 'STATE', field: 'state', tone: ({ state }) => (state === 'active' ? 'good' : undefined) },
];

/**
 * `muster keys status`: by key, how much is sealed under it, which replicas know it, and whether its line may be
 * removed.
 * @throws CommandFault, ConfigError, MusterError
 */
export async function keyStatus(call: Invocation): Promise<void> {
  const status = await operatorOf(call).readKeys(requestOf(call));
  await printList(call, {
    columns: COLUMNS,
    id: ({ number }) => String(number),
    items: keysOf(status),
    document: () => status,
  });
  if (!status.countedAll) call.say('There are more sealed idempotency records than were counted.');
}

function keysOf(status: KeyStatus): readonly Key[] {
  const { known, replicas, sealedUnder, awaitingRetirement } = status;
  const named = [...known, ...Object.keys(sealedUnder).map(Number), ...Object.keys(awaitingRetirement).map(Number)];
  const numbers = [...new Set(named)].sort((a, b) => a - b);
  return numbers.map((number) => ({
    number,
    seals: sealedUnder[number] ?? 0,
    purged: awaitingRetirement[number] ?? 0,
    knownBy: replicas.filter(({ keyNumbers }) => keyNumbers.includes(number)).length,
    replicas: replicas.length,
    state: stateOf(number, status),
  }));
}

function stateOf(number: number, { writing, known, removable }: KeyStatus): string {
  if (number === writing) return 'active';
  if (!known.includes(number)) return 'not in the key file';
  if (removable.includes(number)) return 'may be removed';
  return number > writing ? 'ready for `muster keys rotate`' : 'opens only';
}
