/** Counts the turns of the event loop, to see that a long piece of work lets others have theirs. */
export function countedTurns(): { count(): number; end(): void } {
  let turns = 0;
  let next = setImmediate(turn);
  function turn(): void {
    turns += 1;
    next = setImmediate(turn);
  }
  return { count: () => turns, end: () => clearImmediate(next) };
}
