import type { Socket } from 'node:net';
import type { AgentToServer } from '../../opamp/generated/opamp_pb.ts';

interface Last {
  readonly instanceUid: Uint8Array;
  readonly sequenceNum: bigint;
}

/**
 * The last sequence number of each connection. A number that is left out on one connection is a message that was lost;
 * over several connections nothing is known, since other replicas take messages, too.
 */
export class Sequences {
  readonly #last = new WeakMap<Socket, Last>();

  /** Whether a message between the last one of this connection and this one is missing. */
  isGap(socket: Socket, { instanceUid, sequenceNum }: AgentToServer): boolean {
    const last = this.#last.get(socket);
    if (!last || !Buffer.from(last.instanceUid).equals(instanceUid)) return false;
    // The same number is a repetition, a lower one an agent that has started anew and says so itself.
    return sequenceNum > last.sequenceNum + 1n;
  }

  /** Notes a message that was taken: one that was refused may come again. */
  taken(socket: Socket, { instanceUid, sequenceNum }: AgentToServer): void {
    this.#last.set(socket, { instanceUid, sequenceNum });
  }
}
