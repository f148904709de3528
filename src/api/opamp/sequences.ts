import type { Socket } from 'node:net';
import type { AgentToServer } from '../../opamp/generated/opamp_pb.ts';
import { fingerprintOf } from '../../packed/hash.ts';
import { PackedNumbers } from '../../packed/number-map.ts';

/** Numbers are compared as far as a float is exact: an agent that sends a message each second gets there in 285 million years. */
const NUMBER_MAX = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * The sequence numbers of agents. A number that is left out is a message that was lost, where it comes on the connection
 * of an earlier one: an agent behind a balancer comes on a new connection each time, and the numbers between are those
 * that other replicas have taken.
 */
export class Sequences {
  /** Which instance sent the last message of a connection. */
  readonly #instances = new WeakMap<Socket, Uint8Array>();
  /** By instance, the last number that this replica has taken, on whatever connection. */
  readonly #last = new PackedNumbers();

  /** Whether a message between the last one and this one is missing. @param instance of the app, as text */
  isGap(socket: Socket, instance: string, { instanceUid, sequenceNum }: AgentToServer): boolean {
    const before = this.#instances.get(socket);
    if (!before || !Buffer.from(before).equals(instanceUid)) return false;
    const last = this.#last.get(fingerprintOf(instance));
    // The same number is a repetition, a lower one an agent that has started anew and says so itself.
    return last !== undefined && numberOf(sequenceNum) > last + 1;
  }

  /** Notes a message that was taken: one that was refused may come again. */
  taken(socket: Socket, instance: string, { instanceUid, sequenceNum }: AgentToServer): void {
    this.#instances.set(socket, instanceUid);
    this.#last.set(fingerprintOf(instance), numberOf(sequenceNum));
  }
}

const numberOf = (sequenceNum: bigint): number => Number(sequenceNum > NUMBER_MAX ? NUMBER_MAX : sequenceNum);
