/* Queries over the replicas that the variables of a board select. */

/** The labels of series that recording rules sum up: they belong to no replica. */
export const INSTALLATION = 'cluster=~"$cluster",namespace=~"$namespace",job=~"$job"';
const REPLICAS = `${INSTALLATION},instance=~"$instance"`;

/** A series of the selected replicas. */
export const series = (name: string, more = ''): string => `${name}{${REPLICAS}${more === '' ? '' : `,${more}`}}`;

export const rate = (name: string, more = ''): string => `rate(${series(name, more)}[$__rate_interval])`;
/** Events a minute: unlike `increase` over the interval, it does not grow with the width of the picture. */
export const perMinute = (name: string, more = ''): string => `60 * ${rate(name, more)}`;

/** Sums over replicas; without labels one number a cluster. */
export const sum = (inner: string, ...by: string[]): string => over('sum', inner, by);
export const max = (inner: string, ...by: string[]): string => over('max', inner, by);
export const min = (inner: string, ...by: string[]): string => over('min', inner, by);
export const count = (inner: string, ...by: string[]): string => over('count', inner, by);

/** Where one Prometheus knows several clusters, each stands for itself; elsewhere there is no such label. */
const over = (operator: string, inner: string, by: readonly string[]): string =>
  `${operator} by (${['cluster', ...by].join(', ')}) (${inner})`;

/** A quantile of a histogram: the value that this share of the recent observations stays below. */
export const quantile = (share: number, name: string, more = '', ...by: string[]): string =>
  `histogram_quantile(${share}, ${sum(rate(`${name}_bucket`, more), ...by, 'le')})`;

/** The part, or 0 where it has no series while the whole has some. */
export const orNone = (part: string, whole: string): string => `(${part} or 0 * ${whole})`;
