/**
 * A small slip in the product that breaks one rule. The list of them tells whether the tests still hold what they held:
 * whoever moves or removes tests plants each slip again, and a test must fail.
 */
export interface Mutant {
  /** Says in words what the slip is; no two are alike. */
  readonly name: string;
  /** Path of the changed file, from the root of the repository. */
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly search: string;
  /** The code in its place: it runs, although its types need not hold. */
  readonly replacement: string;
  /** The rule that the slip breaks, in one sentence that begins with its identifier. */
  readonly rule: string;
  /** Test files that fail with the slip: as measured before the tests were rearranged, or written for it since. */
  readonly caughtBy: readonly string[];
}
