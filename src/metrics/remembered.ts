/** A labelled child is looked up once and kept: every lookup by labels spells and hashes them. */
export function remembered<T>(make: (labels: readonly string[]) => T): (...labels: readonly string[]) => T {
  const known = new Branch<T>();
  return (...labels) => {
    let branch: Branch<T> = known;
    for (const label of labels) {
      let next = branch.get(label);
      if (!next) branch.set(label, (next = new Branch<T>()));
      branch = next;
    }
    return (branch.child ??= make(labels));
  };
}
class Branch<T> extends Map<string, Branch<T>> {
  child: T | undefined;
}
