import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';

/* The formats of /metrics: Prometheus' text, OpenMetrics for a scraper that prefers it, and either one under gzip. */

type Format = 'text' | 'openmetrics';

export const CONTENT_TYPES: Readonly<Record<Format, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
};

const OPENMETRICS = 'application/openmetrics-text';
const TEXT_RANGES: ReadonlySet<string> = new Set(['text/plain', 'text/*', '*/*']);

/**
 * The format that a scraper prefers by its field `Accept`: OpenMetrics where it names it at least as high as text, and
 * names no version, or 1.0.0. Whatever else it sends, it gets text.
 *
 * The library `negotiator` 1.1.0 gives text to Prometheus 3, which prefers OpenMetrics: that names
 * `version=1.0.0;escaping=allow-utf-8;q=0.6`, and a range with a parameter that the offered type has not (`escaping`)
 * matches nothing there, so that OpenMetrics has the 0.2 of the range for all types and text has 0.3. It also takes the
 * invalid `q=2`.
 */
export function formatOf(accept: string | undefined): Format {
  let [openMetrics, text] = [0, 0];
  for (const range of (accept ?? '').toLowerCase().split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
    const valueOf = (name: string): string | undefined =>
      parameters.find((parameter) => parameter.startsWith(`${name}=`))?.slice(name.length + 1);
    const quality = qualityOf(valueOf('q'));
    if (TEXT_RANGES.has(type)) text = Math.max(text, quality);
    else if (type === OPENMETRICS && (valueOf('version') ?? '1.0.0') === '1.0.0') {
      openMetrics = Math.max(openMetrics, quality);
    }
  }
  return openMetrics > 0 && openMetrics >= text ? 'openmetrics' : 'text';
}

function qualityOf(value: string | undefined): number {
  if (value === undefined) return 1;
  return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(value) ? Number(value) : 0;
}

const compress = promisify(gzip);

/** One rendering of all series, for every scrape that shares it; each form is made once, when it is first asked for. */
export class Exposition {
  readonly #bodies: { [F in Format]?: Buffer } = {};
  readonly #compressed: { [F in Format]?: Promise<Buffer> } = {};

  /** @param text in Prometheus' format */
  constructor(text: string) {
    this.#bodies.text = Buffer.from(text);
  }

  body(format: Format): Buffer {
    const text = this.#bodies.text ?? Buffer.of();
    return (this.#bodies[format] ??= Buffer.from(openMetricsOf(text.toString())));
  }

  /** Compresses on a thread of its own. */
  compressed(format: Format): Promise<Buffer> {
    return (this.#compressed[format] ??= compress(this.body(format), { level: constants.Z_BEST_SPEED }));
  }
}

const COUNTER = /^# HELP (\S+)_total (.*)\n# TYPE \1_total counter$/gm;

/**
 * OpenMetrics 1.0.0 names the family of a counter without `_total`, has no blank line, and says where it ends. The
 * client's own rendering of it changes the names of the counters for good, so that the other format is wrong from then
 * on.
 */
function openMetricsOf(text: string): string {
  const families = text.replaceAll(COUNTER, '# HELP $1 $2\n# TYPE $1 counter').replaceAll(/\n{2,}/g, '\n');
  return `${families}# EOF\n`;
}
