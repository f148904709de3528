/* A panel in few words: what it shows, in which unit, and when it is useful. */

export interface Target {
  readonly expr: string;
  /** The name of each series: text with `{{label}}`; `''` where there is one series. */
  readonly legend: string;
}

/** A colour from this value on; the first has none. */
export interface Step {
  readonly color: 'green' | 'yellow' | 'orange' | 'red';
  readonly from: number | null;
}

export interface Panel {
  readonly type: 'timeseries' | 'stat' | 'table';
  readonly title: string;
  readonly description: string;
  /**
   * A unit of Grafana:
   * https://github.com/grafana/grafana/blob/main/packages/grafana-data/src/valueFormats/categories.ts
   */
  readonly unit: string;
  readonly targets: readonly Target[];
  readonly steps: readonly Step[];
  readonly width: number;
  readonly height: number;
  readonly max?: number;
  readonly stacked?: boolean;
  /** The alert whose section of the runbook says what to do. */
  readonly alert?: string;
  /** In a table: the label of its rows, and the name of each target's column. */
  readonly columns?: { readonly row: string; readonly names: readonly string[] };
  /** Why there may be nothing to show while all is well. */
  readonly mayBeEmpty?: string;
}

export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

type Words = Pick<Panel, 'title' | 'description' | 'unit'> &
  Partial<Pick<Panel, 'steps' | 'max' | 'stacked' | 'width' | 'alert' | 'mayBeEmpty'>>;

/** The end of a `mayBeEmpty`: the setting with which no series names an account. */
export const UNNAMED = 'with MUSTER_METRICS_ACCOUNTS=off';

const CALM: readonly Step[] = [{ color: 'green', from: null }];

/** Draws lines over time, half as wide as the board. */
export const lines = (words: Words, ...targets: Target[]): Panel => ({
  type: 'timeseries',
  steps: CALM,
  width: 12,
  height: 8,
  ...words,
  targets,
});

/** Shows one number; four to six stand side by side. */
export const number = (words: Words, expr: string, legend = ''): Panel => ({
  type: 'stat',
  steps: CALM,
  width: 6,
  height: 4,
  ...words,
  targets: [{ expr, legend }],
});

/** A table with a row for each value of a label, and a column for each target. */
export const table = (
  words: Words,
  row: string,
  ...columns: { readonly name: string; readonly expr: string }[]
): Panel => ({
  type: 'table',
  steps: CALM,
  width: 12,
  height: 8,
  ...words,
  columns: { row, names: columns.map(({ name }) => name) },
  targets: columns.map(({ expr }) => ({ expr, legend: '' })),
});

export const of = (expr: string, legend = ''): Target => ({ expr, legend });

/** Green, then these colours from these values on. */
export const rising = (yellow: number, red: number): readonly Step[] => [
  { color: 'green', from: null },
  { color: 'yellow', from: yellow },
  { color: 'red', from: red },
];

/** Red below, green from this value on. */
export const atLeast = (green: number): readonly Step[] => [
  { color: 'red', from: null },
  { color: 'green', from: green },
];
