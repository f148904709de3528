import type { ServerResponse } from 'node:http';
import { Debt, debtorOf } from './debt.ts';
import { OwedPool } from './owed-pool.ts';
import { SharedBodies } from './shared-bodies.ts';

/** The bounds of what clients have not taken, in bytes. */
interface OwedBounds {
  readonly strangersMax: number;
  readonly knownMax: number;
}

/**
 * The bytes of long answers that clients have not taken, over all listeners of a process: whoever does not read costs
 * no more memory than this, in the process and in the kernel together. Above the bound the answer goes whose client has
 * taken nothing for the longest time: of all strangers', or of those of the account or user that holds most, so that
 * whoever reads, and whoever holds little, is not felt.
 */
export class OwedBytes {
  /** The bytes of clients without a credential, which have no names and are one principal. */
  readonly strangers: OwedPool;
  /** The bytes of clients with a credential, by principal. */
  readonly known: OwedPool;
  readonly #bodies = new SharedBodies();

  constructor({ strangersMax, knownMax }: OwedBounds) {
    this.strangers = new OwedPool(strangersMax);
    this.known = new OwedPool(knownMax);
  }

  /** The bytes of a long answer's text, which it shares with those answers that are being sent and have the same. */
  bytesOf(response: ServerResponse, text: string): Buffer {
    const shared = this.#bodies.join(text);
    response.once('close', () => this.#bodies.leave(shared));
    return shared.bytes;
  }

  /**
   * A long answer begins, and owes what it is given until its client is known to have it.
   * @param principal undefined for a stranger
   * @param body that is kept until all of it is handed over; undefined where the answer is made as it is taken
   */
  begin(response: ServerResponse, principal: string | undefined, body?: Buffer): Debt {
    const { socket } = response.req;
    const debtor = debtorOf(socket);
    let debt = debtor?.debt;
    if (debt === undefined) {
      const begun = (debt = new Debt(() => (debtor === undefined ? socket.destroy() : debtor.giveUp())));
      debtor?.owes(begun);
      socket.once('close', () => begun.leave());
    }
    const owing = debt;
    response.once('close', () => owing.end());
    debt.begin(principal === undefined ? this.strangers.of('') : this.known.of(principal), body);
    return debt;
  }
}
