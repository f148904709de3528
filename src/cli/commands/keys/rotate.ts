import { MusterError, type KeyRotation, type KeyStatus, type OperatorClient } from '#client';
import { readKeyFile } from '../../../service/files/configured-key-file.ts';
import { operatorOf, requestOf } from '../../connection/clients.ts';
import type { Column } from '../../output/columns.ts';
import { printOne } from '../../output/print.ts';
import { CommandFault, wordsOf } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';

/** A replica reads its key file again every 10 s: a line that was just added may not be known yet. */
const KNOWN_WITHIN_MS = 30_000;
/** The leader rewraps in rounds; a rotation that gets no further for so long has failed. */
const STANDS_STILL_MS = 120_000;
const LOOK_EVERY_MS = 1000;
const NONE_NEWER =
  'add a line with a greater number to the key file first (`muster keys add`); the service reads it every 10 s.';
const UNREAD =
  'the service has not read the newer one in the key file of this machine. If that is its key file, its log says why.';

interface Rotated extends KeyRotation {
  /** Nothing is sealed under an older key; false where nobody waited for that. */
  readonly rewrapped: boolean;
}

const COLUMNS: readonly Column<Rotated>[] = [
  { head: 'KEY', field: 'writing' },
  { head: 'BEFORE', field: 'before' },
  { head: 'REWRAPPED', field: 'rewrapped' },
];

/**
 * `muster keys rotate`: makes the newest key of the key file the active one, and waits until nothing is sealed under an
 * older one.
 * @param wait false ends the command once the key is active
 * @throws CommandFault where there is no newer key, a replica does not know it, or the rewrapping stands still;
 * ConfigError, MusterError
 */
export async function rotateKeys(call: Invocation, { wait }: { readonly wait: boolean }): Promise<void> {
  const { say } = call;
  const service = new Service(call);
  const { writing, before } = await activated(call, service);
  if (writing !== before) say(`Key ${writing} is active from now on; what older keys sealed is rewrapped.`);
  const print = (rewrapped: boolean): Promise<void> =>
    printOne<Rotated>(call, {
      columns: COLUMNS,
      id: () => String(writing),
      item: { writing, before, rewrapped },
    });
  if (!wait) {
    say('`muster keys status` tells how far that is.');
    return await print(false);
  }
  if ((await rewrapped(call, service)) === 'unknown') {
    throw new CommandFault(
      `Not everything was counted, and no older key than ${writing} is in the key file, so that nothing is known of the ` +
        'rest: put the line of the older key back where you have not seen that it may be removed, and run it again.',
    );
  }
  say(
    `Nothing is sealed under an older key than ${writing}. \`muster keys status\` tells when older lines may be removed.`,
  );
  await print(true);
}

/** The two questions of a rotation. */
class Service {
  readonly #client: OperatorClient;
  readonly #request: ReturnType<typeof requestOf>;

  constructor(call: Invocation) {
    this.#client = operatorOf(call);
    this.#request = requestOf(call);
  }

  status(): Promise<KeyStatus> {
    return this.#client.readKeys(this.#request);
  }

  rotate(): Promise<KeyRotation> {
    return this.#client.rotateKeys(this.#request);
  }
}

async function activated({ env, clock, say }: Invocation, service: Service): Promise<KeyRotation> {
  const end = clock.monotonic() + KNOWN_WITHIN_MS;
  for (let tries = 1; ; tries += 1) {
    try {
      const rotation = await service.rotate();
      if (rotation.writing !== rotation.before || isAwaited(await olderSeals(service))) return rotation;
      const isNewerHere = await hasNewerHere(env, rotation.writing);
      if (!isNewerHere || clock.monotonic() >= end) {
        throw new CommandFault(`Key ${rotation.writing} is active already: ${isNewerHere ? UNREAD : NONE_NEWER}`);
      }
      if (tries === 1) say('The service is yet to read the new key, which it does every 10 s.');
    } catch (error) {
      const mayPass = error instanceof MusterError && error.status === 400 && clock.monotonic() < end;
      if (!mayPass) throw error;
      if (tries === 1) say(wordsOf(error));
    }
    await clock.sleep(LOOK_EVERY_MS);
  }
}

/** Whether the key file of this machine has a newer key, as after `muster keys add`. */
async function hasNewerHere(env: Invocation['env'], active: number): Promise<boolean> {
  const here = await readKeyFile(env).catch(() => undefined);
  return here !== undefined && here.ring.newest > active;
}

interface OlderSeals {
  /** How many headers and idempotency records were counted that are sealed under another key than the active one. */
  readonly count: number;
  /**
   * Whether there is anything that was not counted, by the leader's own pass over everything and each key of the file.
   * It tells nothing where no older key is there.
   */
  readonly uncounted: 'none' | 'some' | 'unknown';
}

const isAwaited = ({ count, uncounted }: OlderSeals): boolean => count > 0 || uncounted === 'some';

async function olderSeals(service: Service): Promise<OlderSeals> {
  const status = await service.status();
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
async function rewrapped({ clock, say }: Invocation, service: Service): Promise<'none' | 'unknown'> {
  let [left, movedAt] = [Number.POSITIVE_INFINITY, clock.monotonic()];
  for (;;) {
    const { count, uncounted } = await olderSeals(service);
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
