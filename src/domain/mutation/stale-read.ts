/**
 * A record that a decision relies on has changed since it was read, or another controller leads. The caller reads again
 * and decides anew.
 */
export class StaleRead extends Error {
  override readonly name = 'StaleRead';
}
