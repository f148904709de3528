import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { OPEN } from './label-values.ts';

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

/** The series of a gauge, each by its labels. */
type Shown = Iterable<readonly [labels: Readonly<Record<string, string>>, value: number]>;

export interface Series extends Definition {
  readonly type: 'counter' | 'gauge' | 'histogram' | 'summary';
  readonly labels: LabelValues;
}

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

  /** A gauge that is told all of its series at once, and at first has none: it forgets what is not among them. */
  seriesGauge(definition: Definition & { readonly labels?: LabelValues }): (shown: Shown) => void {
    const gauge = new Gauge(this.#added('gauge', definition, {}));
    const show = showing(gauge);
    show([]);
    return show;
  }

  /** A gauge with a series for each of a few accounts, by their ids, which is told all of them at once. */
  accountsGauge(definition: Definition): (shown: readonly (readonly [accountId: string, value: number])[]) => void {
    const show = this.seriesGauge({ ...definition, labels: { account: OPEN } });
    return (shown) => show(shown.map(([account, value]) => [{ account }, value]));
  }

  /** A gauge without labels that has no series while its value is undefined, as on a replica that does not lead. */
  knownGauge(definition: Definition): (value: number | undefined) => void {
    const show = this.seriesGauge(definition);
    return (value) => show(value === undefined ? [] : [[{}, value]]);
  }

  /** A gauge without labels that calls for its value at each scrape. @param before it is told where to read */
  callbackGauge(definition: Definition, before = 0): (read: () => number | boolean) => void {
    let read: () => number | boolean = () => before;
    const gauge: Gauge<string> = new Gauge(
      this.#added('gauge', definition, { collect: () => gauge.set(Number(read())) }),
    );
    return (given) => void (read = given);
  }

  /** A gauge that calls for its series at each scrape, and has none while it is told no place to read. */
  seriesCallbackGauge(
    definition: Definition & { readonly labels?: LabelValues },
  ): (read: (() => Shown) | undefined) => void {
    let read: (() => Shown) | undefined;
    const gauge: Gauge<string> = new Gauge(
      this.#added('gauge', definition, { collect: () => showing(gauge)(read?.() ?? []) }),
    );
    return (given) => void (read = given);
  }

  /** An observation takes 0.5 µs: a fiftieth of a poll that is answered with 304 (ADR 0049). */
  histogram(definition: Definition & Bucketed & { readonly labels?: LabelValues }): Histogram<string> {
    return new Histogram(this.#added('histogram', definition, { buckets: [...definition.buckets] }));
  }
}

const showing =
  (gauge: Gauge<string>) =>
  (shown: Shown): void => {
    gauge.reset();
    // A gauge without labels has a series after `reset`, at 0.
    gauge.remove({});
    for (const [labels, value] of shown) gauge.set(labels, value);
  };
