/** A body that is waited for costs at least this: its connection, its request, and what is kept of both. */
export const BODY_BYTES_MIN = 16_384;

/** A body that is waited for. */
interface Body {
  readonly bytes: number;
  readonly giveUp: () => void;
}

/** The bodies of one principal, the one that is waited for longest first. */
interface Awaited {
  bytes: number;
  readonly bodies: Set<Body>;
}

/**
 * The bodies that requests wait for, without a slot. Whoever sends one slowly decides how long it lies in memory: when
 * they may grow to too many bytes, the principal who has most gives up the one that is waited for longest. An honest
 * body comes with its head, or right behind it.
 */
export class AwaitedBodies {
  readonly #bytesMax: number;
  readonly #awaited = new Map<string, Awaited>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /**
   * Registers a body.
   * @param principal who sends it; one and the same for all who have not authenticated
   * @param bytes the most that it may have
   * @param giveUp ends the wait for it; it may be called at once
   * @returns to be called when it is no longer waited for
   */
  await(principal: string, bytes: number, giveUp: () => void): () => void {
    const body: Body = { bytes: Math.max(bytes, BODY_BYTES_MIN), giveUp };
    const awaited = this.#awaited.get(principal) ?? { bytes: 0, bodies: new Set() };
    this.#awaited.set(principal, awaited);
    awaited.bodies.add(body);
    awaited.bytes += body.bytes;
    this.#bytes += body.bytes;
    while (this.#bytes > this.#bytesMax) this.#giveOneUp();
    return () => this.#forget(principal, body);
  }

  #giveOneUp(): void {
    let most: { readonly principal: string; readonly awaited: Awaited } | undefined;
    for (const [principal, awaited] of this.#awaited) {
      if (most === undefined || awaited.bytes > most.awaited.bytes) most = { principal, awaited };
    }
    const [longest] = most?.awaited.bodies ?? [];
    if (most === undefined || longest === undefined) return;
    this.#forget(most.principal, longest);
    longest.giveUp();
  }

  #forget(principal: string, body: Body): void {
    const awaited = this.#awaited.get(principal);
    if (awaited?.bodies.delete(body) !== true) return;
    awaited.bytes -= body.bytes;
    this.#bytes -= body.bytes;
    if (awaited.bodies.size === 0) this.#awaited.delete(principal);
  }
}
