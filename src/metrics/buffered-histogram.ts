import {
  Histogram,
  type HistogramConfiguration,
  type MetricObjectWithValues,
  type MetricValueWithName,
} from 'prom-client';
import { remembered } from './remembered.ts';

type Value = MetricValueWithName<string>;
type Labels = Record<string, string>;

/**
 * A histogram for the path of every request. The library's own spells and hashes the labels at every observation, which
 * takes 370 ns instead of 67 ns (450 ns with a child of `labels()` that is kept; one process, a million observations a
 * round): 0.5 µs instead of 0.08 µs for a poll, with its counters. So each series counts in an array of its own, and
 * the library reads them when a scrape comes.
 */
export class BufferedHistogram extends Histogram<string> {
  readonly #name: string;
  readonly #help: string;
  readonly #series: SeriesBuckets[] = [];
  /**
   * The series with these values of the labels, in the order of `labelNames`; there from the first time it is asked
   * for.
   */
  readonly of: (...values: readonly string[]) => SeriesBuckets;

  constructor(configuration: HistogramConfiguration<string> & { labelNames: string[]; buckets: number[] }) {
    super(configuration);
    const { name, help, labelNames, buckets } = configuration;
    [this.#name, this.#help] = [name, help];
    this.of = remembered((values) => {
      const labels = Object.fromEntries(labelNames.map((label, index) => [label, values[index] ?? '']));
      const series = new SeriesBuckets(labels, buckets);
      this.#series.push(series);
      return series;
    });
  }

  override async get(): Promise<MetricObjectWithValues<Value>> {
    const [name, help] = [this.#name, this.#help];
    const values = this.#series.flatMap((series) => series.values(name));
    return { name, help, type: 'histogram', aggregator: 'sum', collect: () => undefined, values };
  }

  /** The registry calls this in place of `get` where a metric has it. */
  getForPromString(): Promise<MetricObjectWithValues<Value>> {
    return this.get();
  }
}

class SeriesBuckets {
  readonly #labels: Labels;
  readonly #bounds: readonly number[];
  /** The observations by bucket; the last bucket is for values above all bounds. */
  readonly #counts: Float64Array;
  #sum = 0;

  constructor(labels: Labels, bounds: readonly number[]) {
    [this.#labels, this.#bounds] = [labels, bounds];
    this.#counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    const bounds = this.#bounds;
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] ?? 0)) bucket += 1;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#sum += value;
  }

  /** The values in the exposition format: each bucket counts those below it, too. */
  values(name: string): Value[] {
    let count = 0;
    const buckets = [...this.#bounds, '+Inf'].map((le, index) => {
      count += this.#counts[index] ?? 0;
      return { labels: { le, ...this.#labels }, value: count, metricName: `${name}_bucket` };
    });
    return [
      ...buckets,
      { labels: this.#labels, value: this.#sum, metricName: `${name}_sum` },
      { labels: this.#labels, value: count, metricName: `${name}_count` },
    ];
  }
}
