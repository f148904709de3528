/**
 * Emitted on a response whose answer is there while its end still waits for the client: for the rest of the request's
 * body (H7), or until the client has taken a long answer. A response whose end waits for nothing emits node's
 * `prefinish` instead.
 */
export const ANSWER_WRITTEN: unique symbol = Symbol('answer written');

/**
 * Emitted on a response when its request has proved who sends it, by an API key, a credential or the operator's token.
 * The argument is the principal: the account, or the operator.
 */
export const AUTHENTICATED: unique symbol = Symbol('authenticated');

/**
 * Emitted on a response, with a `BodyWait`, when its request begins to wait for its body: whoever sends that slowly
 * must not hold a slot meanwhile.
 */
export const BODY_AWAITED: unique symbol = Symbol('body awaited');

/** The wait for a body. */
export interface BodyWait {
  /**
   * Called when the body is there; set by the listener that has given the slot back.
   * @returns false where no slot is free: the request is to be rejected
   */
  takeSlot: () => boolean;
}
