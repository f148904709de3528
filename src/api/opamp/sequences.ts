import type { Socket } from 'node:net';
import { ForgetfulNumbers } from '../../packed/forgetful-numbers.ts';
import { fingerprintOf } from '../../packed/hash.ts';

/** A message, as far as its number goes. */
interface Numbered {
  readonly instanceUid: Uint8Array;
  readonly sequenceNum: bigint;
}

/** A place has 21 bits of the instance and 32 of its number, which last for 136 years of a message a second. */
const NUMBERS = 2 ** 32;
const INSTANCES = 2 ** 21;

/**
 * The sequence numbers of agents. A number that is left out is a message that was lost, where it comes on the
 * connection of an earlier one, or no other replica is there: an agent behind a balancer comes on a new connection each
 * time, and the numbers between are those that other replicas have taken.
 */
export class Sequences {
  /** Which instance sent the last message of a connection. */
  readonly #instances = new WeakMap<Socket, string>();
  /** The last instance of each app and the last number that this replica has taken of it, on whatever connection. */
  #last: ForgetfulNumbers;
  readonly #apps: () => number;
  readonly #isAlone: () => boolean;
  #wasAlone = false;

  /**
   * @param apps how many there are now
   * @param isAlone whether no other replica takes messages: then a number is missing on whatever connection
   */
  constructor(apps: () => number, isAlone: () => boolean) {
    this.#apps = apps;
    this.#last = new ForgetfulNumbers(apps);
    this.#isAlone = isAlone;
  }

  /** Whether a message between the last one and this one is missing. */
  isGap(socket: Socket, appId: string, { instanceUid, sequenceNum }: Numbered): boolean {
    const isAlone = this.#isAlone();
    // The numbers that this replica took while others lived tell nothing of those that they took.
    if (isAlone && !this.#wasAlone) this.#last = new ForgetfulNumbers(this.#apps);
    this.#wasAlone = isAlone;
    if (!isAlone && this.#instances.get(socket) !== textOf(instanceUid)) return false;
    const last = this.#last.get(fingerprintOf(appId));
    if (last === undefined || Math.floor(last / NUMBERS) !== bitsOf(instanceUid)) return false;
    // The same number is a repetition, a lower one an agent that has started anew and says so itself.
    return numberOf(sequenceNum) > (last % NUMBERS) + 1;
  }

  /** Notes a message that was taken: one that was refused may come again. */
  taken(socket: Socket, appId: string, { instanceUid, sequenceNum }: Numbered): void {
    this.#instances.set(socket, textOf(instanceUid));
    this.#last.set(fingerprintOf(appId), bitsOf(instanceUid) * NUMBERS + numberOf(sequenceNum));
  }
}

const textOf = (instanceUid: Uint8Array): string => Buffer.from(instanceUid).toString('hex', 0, 16);

/** The end of the id is random. */
const bitsOf = (instanceUid: Uint8Array): number =>
  instanceUid.length < 4 ? 0 : Buffer.from(instanceUid.slice(-4)).readUInt32BE() % INSTANCES;

const numberOf = (sequenceNum: bigint): number => Number(sequenceNum < BigInt(NUMBERS) ? sequenceNum : NUMBERS - 1);
