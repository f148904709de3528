import type { IncomingMessage, ServerResponse } from 'node:http';
import { addressKey, type TrustedProxies } from '../http/client-address.ts';
import { AUTHENTICATED } from '../http/exchange-events.ts';
import { isEncrypted } from '../headers/security-headers.ts';
import type { Seat, SeatOptions, Seats } from './seats.ts';

/** The settings for those who have not authenticated. */
export interface StrangerOptions extends SeatOptions {
  /** How long, in milliseconds, the connection of a stranger stays open while it is idle. */
  readonly strangerKeepAliveMs?: number;
  /** The proxies that forward the requests of others; none without this. */
  readonly trustedProxies?: TrustedProxies;
}

/** Tells who is a stranger on a listener, and until when. */
export class Strangers {
  readonly #seats: Seats;
  readonly #options: StrangerOptions;

  constructor(seats: Seats, options: StrangerOptions) {
    this.#seats = seats;
    this.#options = options;
  }

  /** The address under which a new connection is counted; undefined for a trusted proxy's, which is no stranger's. */
  addressOf(peer: string): string | undefined {
    return this.#options.trustedProxies?.has(peer) === true ? undefined : addressKey(peer);
  }

  /** The facts of the client's connection, which a trusted proxy may tell of. */
  connectionOf(request: IncomingMessage): { readonly isEncrypted: boolean } {
    const { trustedProxies } = this.#options;
    return { isEncrypted: trustedProxies?.cameByTls(request) ?? isEncrypted(request.socket) };
  }

  /** The client whose request a trusted proxy forwards, where clients are counted. */
  behind(seat: Seat, request: IncomingMessage): string | undefined {
    const { trustedProxies, strangersPerAddressMax = 0 } = this.#options;
    if (trustedProxies === undefined || strangersPerAddressMax === 0 || seat.address !== undefined) return undefined;
    return trustedProxies.has(request.socket.remoteAddress) ? addressKey(trustedProxies.clientOf(request)) : undefined;
  }

  /** Counts such a client's request until it authenticates or is answered. */
  count(address: string, response: ServerResponse): void {
    let isCounted = true;
    const discount = (): void => {
      if (isCounted) this.#seats.discount(address);
      isCounted = false;
    };
    this.#seats.count(address);
    response.on(AUTHENTICATED, discount).on('prefinish', discount).on('close', discount);
  }

  /** A stranger's connection is closed soon after it has become idle, and its client is told so. */
  expectAuthentication(seat: Seat, response: ServerResponse): void {
    const keepAliveMs = this.#options.strangerKeepAliveMs ?? 5_000;
    // Where this request was read before the answer to the one before, node does not end the idle time.
    response.req.socket.setTimeout(0);
    if (response.shouldKeepAlive) response.setHeader('Keep-Alive', `timeout=${Math.floor(keepAliveMs / 1000)}`);
    response.once(AUTHENTICATED, (principal: string) => {
      seat.authenticated(principal);
      if (!response.headersSent) response.removeHeader('Keep-Alive');
    });
    response.on('close', () => {
      // A second later than the client was told, as node does.
      if (seat.address !== undefined) response.req.socket.setTimeout(keepAliveMs + 1_000);
    });
  }
}
