import process from 'node:process';
import { systemClock, type Clock } from '../../time/clock.ts';
import { CommandFault, say } from '../terminal/exit.ts';
import { connectionOf } from '../terminal/service-address.ts';
import { ServiceClient, ServiceRefusal } from '../terminal/service-client.ts';
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

/** A replica reads its key file again every 10 s: a line that was just added may not be known yet. */
const KNOWN_WITHIN_MS = 30_000;
/** The leader rewraps in rounds; a rotation that gets no further for so long has failed. */
const STANDS_STILL_MS = 120_000;
const LOOK_EVERY_MS = 1000;

/**
 * `muster keys rotate`: makes the newest key of the key file the active one, and waits until nothing is sealed under an
 * older one.
 * @throws CommandFault where there is no newer key, a replica does not know it, or the rewrapping stands still;
 * ConfigError
 */
export async function rotateKeys(env: NodeJS.ProcessEnv, clock: Clock = systemClock): Promise<void> {
  const client = new ServiceClient(connectionOf(env));
  const { writing, before } = await activated(client, clock);
  if (writing !== before) say(`Key ${writing} is active from now on; what older keys sealed is rewrapped.`);
  if ((await rewrapped(client, clock)) === 'unknown') {
    throw new CommandFault(
      `Not everything was counted, and no older key than ${writing} is in the key file, so that nothing is known of the ` +
        'rest: put the line of the older key back where you have not seen that it may be removed, and run it again.',
    );
  }
  say(
    `Nothing is sealed under an older key than ${writing}. \`muster keys status\` tells when older lines may be removed.`,
  );
}

interface Rotation {
  readonly writing: number;
  readonly before: number;
}

async function activated(client: ServiceClient, clock: Clock): Promise<Rotation> {
  const end = clock.monotonic() + KNOWN_WITHIN_MS;
  for (let tries = 1; ; tries += 1) {
    try {
      const rotation = await client.json<Rotation>('/operator/v1/keys/rotation', { method: 'POST' });
      if (rotation.writing !== rotation.before || isAwaited(await olderSeals(client))) return rotation;
      throw new CommandFault(
        `Key ${rotation.writing} is active already: add a line with a greater number to the key file first; the ` +
          'service reads it every 10 s.',
      );
    } catch (error) {
      const mayPass = error instanceof ServiceRefusal && error.status === 400 && clock.monotonic() < end;
      if (!mayPass) throw error;
      if (tries === 1) say(error.message);
    }
    await clock.sleep(LOOK_EVERY_MS);
  }
}

interface OlderSeals {
  /** How many headers and idempotency records were counted that are sealed under another key than the active one. */
  readonly count: number;
  /**
   * Of what was not counted, the leader's own pass over everything tells: whether any of it is, by key of the key file.
   * It tells nothing where no older key is there.
   */
  readonly uncounted: 'none' | 'some' | 'unknown';
}

const isAwaited = ({ count, uncounted }: OlderSeals): boolean => count > 0 || uncounted === 'some';

async function olderSeals(client: ServiceClient): Promise<OlderSeals> {
  const status = await client.json<KeyStatus>('/operator/v1/keys');
  const { writing, sealedUnder } = status;
  const count = Object.entries(sealedUnder).reduce((sum, [key, n]) => (Number(key) === writing ? sum : sum + n), 0);
  return { count, uncounted: uncountedSeals(status) };
}

function uncountedSeals({ writing, known, countedAll, removable }: KeyStatus): OlderSeals['uncounted'] {
  if (countedAll) return 'none';
  const older = known.filter((number) => number < writing);
  if (older.length === 0) return 'unknown';
  return older.every((number) => removable.includes(number)) ? 'none' : 'some';
}

/** @returns whether nothing is sealed under an older key any more, or none of what was counted. @throws CommandFault */
async function rewrapped(client: ServiceClient, clock: Clock): Promise<'none' | 'unknown'> {
  let [left, movedAt] = [Number.POSITIVE_INFINITY, clock.monotonic()];
  for (;;) {
    const { count, uncounted } = await olderSeals(client);
    if (count === 0 && uncounted !== 'some') return uncounted;
    if (count < left) {
      [left, movedAt] = [count, clock.monotonic()];
      say(
        count > 0 ? `${count} left to rewrap` : 'There are more records than were counted; the leader goes over them.',
      );
    } else if (clock.monotonic() - movedAt >= STANDS_STILL_MS) {
      throw new CommandFault(
        `${count > 0 ? count : 'Records that were not counted'} may still be sealed under an older key: see the log of ` +
          'the leader, then run it again.',
      );
    }
    await clock.sleep(LOOK_EVERY_MS);
  }
}
