/**
 * Emitted on a response whose answer is written while its end still waits for the rest of the request's body (H7). A
 * response whose end waits for nothing emits node's `prefinish` instead.
 */
export const ANSWER_WRITTEN: unique symbol = Symbol('answer written');

/** Emitted on a response when its request has proved who sends it, by an API key, a credential or the operator's token. */
export const AUTHENTICATED: unique symbol = Symbol('authenticated');
