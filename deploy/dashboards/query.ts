/* Queries over the replicas that the variables of a board select. */

/** The labels of series that recording rules sum up: they belong to no replica. */
export const INSTALLATION = 'namespace=~"$namespace",job=~"$job"';
const REPLICAS = `${INSTALLATION},instance=~"$instance"`;

/** A series of the selected replicas. */
export const series = (name: string, more = ''): string => `${name}{${REPLICAS}${more === '' ? '' : `,${more}`}}`;

export const rate = (name: string, more = ''): string => `rate(${series(name, more)}[$__rate_interval])`;
export const increase = (name: string, more = ''): string => `increase(${series(name, more)}[$__rate_interval])`;

/** Sums over replicas; without labels one number. */
export const sum = (inner: string, ...by: string[]): string => over('sum', inner, by);
export const max = (inner: string, ...by: string[]): string => over('max', inner, by);

const over = (operator: string, inner: string, by: readonly string[]): string =>
  by.length === 0 ? `${operator}(${inner})` : `${operator} by (${by.join(', ')}) (${inner})`;

/** A quantile of a histogram: the value that this share of the recent observations stays below. */
export const quantile = (share: number, name: string, more = '', ...by: string[]): string =>
  `histogram_quantile(${share}, ${sum(rate(`${name}_bucket`, more), ...by, 'le')})`;

/** The part, or 0 where it has no series while the whole has some. */
export const orNone = (part: string, whole: string): string => `(${part} or 0 * ${whole})`;
