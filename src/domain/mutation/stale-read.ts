/** What a decision was made from has changed since it was read, or another controller leads: read it again and decide anew. */
export class StaleRead extends Error {
  override readonly name = 'StaleRead';
}
