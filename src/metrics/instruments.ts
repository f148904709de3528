import { Counter, Gauge, type Registry } from 'prom-client';

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

/** A name, its words for `# HELP`, and one label with all values that it may have. */
export interface Labelled<Value extends string> {
  readonly name: string;
  readonly help: string;
  readonly label: string;
  readonly values: readonly Value[];
}

/**
 * A counter whose series are all there from the start, at 0: of a series that begins with its first event, `increase`
 * does not see that event, and a query for what has not happened yet finds nothing in place of none.
 */
export function counterOf<Value extends string>(
  registers: Registry[],
  { name, help, label, values }: Labelled<Value>,
): (value: Value, count?: number) => void {
  const counter = new Counter({ name, help, labelNames: [label], registers });
  for (const value of values) counter.inc({ [label]: value }, 0);
  return (value, count = 1) => counter.inc({ [label]: value }, count);
}

/**
 * The same for the path of every request: it counts in a plain map, and is told the difference when a scrape comes.
 */
export function lazyCounterOf<Value extends string>(
  registers: Registry[],
  { name, help, label, values }: Labelled<Value>,
): (value: Value) => void {
  const since = new Map<Value, number>(values.map((value) => [value, 0]));
  const counter = new Counter({
    name,
    help,
    labelNames: [label],
    registers,
    collect() {
      for (const [value, count] of since) this.inc({ [label]: value }, count);
      since.clear();
    },
  });
  counter.reset();
  return (value) => {
    since.set(value, (since.get(value) ?? 0) + 1);
  };
}

/** A counter without labels. */
export function plainCounter(registers: Registry[], name: string, help: string): (count?: number) => void {
  const counter = new Counter({ name, help, registers });
  return (count = 1) => counter.inc(count);
}

/** A gauge without labels that is told its value. */
export function plainGauge(registers: Registry[], name: string, help: string): (value: number) => void {
  const gauge = new Gauge({ name, help, registers });
  return (value) => gauge.set(value);
}

/** A gauge that asks for its value when a scrape comes. */
export function callbackGauge(registers: Registry[], name: string, help: string, read: () => number): void {
  const gauge = new Gauge({
    name,
    help,
    registers,
    collect() {
      this.set(read());
    },
  });
  gauge.set(0);
}

/** Of durations from a lookup in memory to a request that has hung. */
export const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
