import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setDebtor, type Debt, type Debtor } from '../http/pieces/debt.ts';
import { Lingering, reset } from './lingering.ts';
import { Progress } from './progress.ts';

/** Notes what the client of a connection has not read, and when it is given up for that. */
export class Unread implements Debtor {
  readonly #socket: Socket;
  readonly #raw: Socket;
  readonly #progress: Progress;
  /** Called when the connection ends and its client may still read. */
  readonly #lingers: () => void;
  #lingering: Lingering | undefined;
  debt: Debt | undefined;

  /** @param raw the TCP socket, which is the same one without TLS @param unreadMs for the client to take anything */
  constructor(socket: Socket, raw: Socket, unreadMs: number, lingers: () => void) {
    this.#socket = socket;
    this.#raw = raw;
    this.#progress = new Progress(raw, unreadMs);
    this.#lingers = lingers;
    setDebtor(socket, this);
  }

  owes(debt: Debt): void {
    this.debt = debt;
    this.#progress.begin();
    this.#lingering = new Lingering(this.#socket, this.#raw, debt, this.#lingers);
  }

  /** The connection is closed at once, whatever its client has not read: the process is about to end. */
  lingerNoLonger(): void {
    this.#lingering?.stop();
  }

  /** Called at regular intervals. @param response that is being sent; undefined where there is none */
  check(response: ServerResponse | undefined): void {
    if (this.debt === undefined && response?.headersSent !== true) return this.#progress.rest();
    const isSpent = this.#progress.isSpent(response);
    if (isSpent && (response !== undefined || this.#lingering?.isLingering === true)) this.giveUp();
  }

  giveUp(): void {
    if (this.#lingering === undefined) reset(this.#socket, this.#raw);
    else this.#lingering.reset();
  }
}
