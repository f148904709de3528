import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { isPlainHttp } from './below-routing.ts';
import type { Seat } from './seats.ts';

/** The steps of a TLS connection, as its listener sees them. */
interface HandshakeSteps {
  /** Seats the TCP connection. @returns undefined where there is no place; it is closed then */
  readonly seat: (raw: Socket) => Seat | undefined;
  /** The handshake is over. */
  readonly done: (socket: Socket, raw: Socket, seat: Seat) => void;
  /** The client speaks HTTP without TLS; what is written to the TCP connection goes as it is. */
  readonly plain: (raw: Socket) => void;
}

/** The TLS connections of a server whose handshake is not over. */
export class Handshakes {
  /** The handshakes by the peer's address and port. */
  readonly #open = new Map<string, { readonly raw: Socket; readonly seat: Seat }>();

  constructor(server: Server, { seat, done, plain }: HandshakeSteps) {
    server.on('connection', (raw: Socket) => {
      const taken = seat(raw);
      if (taken !== undefined) this.#track(raw, taken);
    });
    server.on('secureConnection', (socket: Socket) => {
      const open = this.#open.get(peerOf(socket));
      this.#open.delete(peerOf(socket));
      if (open) done(socket, open.raw, open.seat);
      else socket.destroy();
    });
    // Node has given the handshake up, and closes the connection when what is pending is written.
    server.on('tlsClientError', (error: NodeJS.ErrnoException, socket: Socket) => {
      const open = this.#open.get(peerOf(socket));
      if (open?.raw.writable === true && isPlainHttp(error)) plain(open.raw);
    });
  }

  destroyAll(): void {
    for (const { raw } of this.#open.values()) raw.destroy();
  }

  #track(raw: Socket, seat: Seat): void {
    const peer = peerOf(raw);
    this.#open.set(peer, { raw, seat });
    raw.on('close', () => {
      // A peer that was gone when it was accepted has no address: another one may have this place in the map.
      if (this.#open.get(peer)?.raw === raw) this.#open.delete(peer);
      seat.leave();
    });
  }
}

const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
