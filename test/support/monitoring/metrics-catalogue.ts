import { metricsSections } from '../../../scripts/metrics-document.ts';
import type { Series } from '../../../src/metrics/instruments/section.ts';

/* The series that docs/METRICS.md is made from, as the tests on queries and documents read them. */

interface LabelSet {
  readonly label: string;
  readonly series: readonly string[];
  /** `''` where the label may be empty. */
  readonly values: readonly string[];
}

const series: readonly Series[] = metricsSections().flatMap((section) => section.series);

export const cataloguedSeries = (): readonly Series[] => series;

/** The closed set of each label of each series; labels whose values Node.js gives are not among them. */
export function cataloguedLabels(): readonly LabelSet[] {
  return series.flatMap(({ name, labels }) =>
    Object.entries(labels)
      .filter(([, values]) => values.length > 0)
      .map(([label, values]) => ({ label, series: [name], values })),
  );
}
