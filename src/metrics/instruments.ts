import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { BufferedHistogram } from './buffered-histogram.ts';

/** The facts about a series that docs/METRICS.md states beside its type and its labels. */
interface Definition {
  readonly name: string;
  /** A sentence for operators; the exposition has it as `# HELP`. */
  readonly help: string;
  readonly unit: string;
}

/** The closed set of values of each label, in the order of the labels. */
type LabelValues<Value extends string = string> = Readonly<Record<string, readonly Value[]>>;
interface Labelled<Value extends string = string> extends Definition {
  readonly labels: LabelValues<Value>;
}
interface Bucketed {
  /** The upper bounds of the buckets, rising. */
  readonly buckets: readonly number[];
}

/** The set of a label whose values this room does not know: the templates of routes, the version of Node.js. */
export const OPEN: readonly string[] = [];

export interface Series extends Definition {
  readonly type: 'counter' | 'gauge' | 'histogram' | 'summary';
  readonly labels: LabelValues;
}

/** Durations from a lookup in memory to a request that has hung. */
export const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/**
 * A section of docs/METRICS.md. Each of its methods registers one instrument and notes what the document says of it, so
 * that no series can be missing there.
 */
export class Section {
  readonly title: string;
  /** A sentence below the title; `''` where there is none. */
  readonly note: string;
  readonly series: Series[] = [];
  readonly #registers: Registry[];

  constructor(registry: Registry, title: string, note = '') {
    [this.#registers, this.title, this.note] = [[registry], title, note];
  }

  #added<Configuration>(
    type: Series['type'],
    { name, help, unit, labels = {} }: Definition & { readonly labels?: LabelValues },
    configuration: Configuration,
  ) {
    this.series.push({ name, help, unit, type, labels });
    return { name, help, labelNames: Object.keys(labels), registers: this.#registers, ...configuration };
  }

  /** A counter without labels. */
  counter(definition: Definition): (count?: number) => void {
    const counter = new Counter(this.#added('counter', definition, {}));
    return (count = 1) => counter.inc(count);
  }

  /**
   * A counter with one label, whose series are all there from the start, at 0: `increase` does not see the first event
   * of a series that begins with it, and a query for what has not happened yet would find nothing in place of 0.
   */
  counterOf<Value extends string>(definition: Labelled<Value>): (value: Value, count?: number) => void {
    const [label = '', values = []] = Object.entries(definition.labels)[0] ?? [];
    const counter = new Counter(this.#added('counter', definition, {}));
    for (const value of values) counter.inc({ [label]: value }, 0);
    return (value, count = 1) => counter.inc({ [label]: value }, count);
  }

  /**
   * The same for the path of every request: it counts in a map, and the client is told the difference at each scrape.
   */
  bufferedCounterOf<Value extends string>(definition: Labelled<Value>): (value: Value) => void {
    const [label = '', values = []] = Object.entries(definition.labels)[0] ?? [];
    const since = new Map<Value, number>(values.map((value) => [value, 0]));
    const counter: Counter<string> = new Counter(
      this.#added('counter', definition, {
        collect() {
          for (const [value, count] of since) counter.inc({ [label]: value }, count);
          since.clear();
        },
      }),
    );
    counter.reset();
    return (value) => {
      since.set(value, (since.get(value) ?? 0) + 1);
    };
  }

  /** A counter with several labels; a series is there from its first event. */
  labelledCounter(definition: Labelled): Counter<string> {
    return new Counter(this.#added('counter', definition, {}));
  }

  /** A gauge without labels that is told its value. */
  gauge(definition: Definition): (value: number) => void {
    const gauge = new Gauge(this.#added('gauge', definition, {}));
    return (value) => gauge.set(value);
  }

  /** A gauge with labels that is told its values. */
  labelledGauge(definition: Labelled): Gauge<string> {
    return new Gauge(this.#added('gauge', definition, {}));
  }

  /** A gauge without labels that calls for its value at each scrape. */
  callbackGauge(definition: Definition, read: () => number): void {
    const gauge: Gauge<string> = new Gauge(this.#added('gauge', definition, { collect: () => gauge.set(read()) }));
    gauge.set(0);
  }

  /** A gauge with labels that calls for its series at each scrape: what is not among them then is there no longer. */
  labelledCallbackGauge(
    definition: Labelled,
    read: () => Iterable<readonly [labels: Readonly<Record<string, string>>, value: number]>,
  ): void {
    const gauge: Gauge<string> = new Gauge(
      this.#added('gauge', definition, {
        collect() {
          gauge.reset();
          // A gauge that can have one series alone has it after `reset`, at 0.
          if (Object.keys(definition.labels).length === 0) gauge.remove({});
          for (const [labels, value] of read()) gauge.set(labels, value);
        },
      }),
    );
  }

  histogram(definition: Definition & Bucketed & { readonly labels?: LabelValues }): Histogram<string> {
    return new Histogram(this.#added('histogram', definition, { buckets: [...definition.buckets] }));
  }

  /** The same for the path of every request. */
  bufferedHistogram(definition: Labelled & Bucketed): BufferedHistogram {
    return new BufferedHistogram(this.#added('histogram', definition, { buckets: [...definition.buckets] }));
  }

  /** A histogram of how things are at the scrape: it calls for its values then, and forgets those of the last one. */
  callbackHistogram(definition: Definition & Bucketed, read: () => Iterable<number>): void {
    const histogram: Histogram<string> = new Histogram(
      this.#added('histogram', definition, {
        buckets: [...definition.buckets],
        collect() {
          histogram.reset();
          for (const value of read()) histogram.observe(value);
        },
      }),
    );
    histogram.reset();
  }
}
