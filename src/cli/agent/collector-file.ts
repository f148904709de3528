import type { DeviceConfig } from '#client';

/*
 * The configuration as a file of the OpenTelemetry Collector, which merges it with a file of its owner. Maps are merged
 * and lists are replaced, so the pipelines are the file's own, and what the owner has stays as it is. The collector
 * takes no file without an exporter and no pipeline without one: while nothing is to be exported, the pipelines end in
 * an exporter that drops everything. The collector expands `$NAME` and `${…}` in every value,
 * from its environment, files and the network, so each `$` is doubled: what the owner stored arrives as it is.
 */

const HEADING = '# Written by muster agent run, which replaces it with each change of the configuration.\n';

/** The kinds of telemetry that a collector has pipelines for. */
const SIGNALS = ['traces', 'metrics', 'logs'] as const;
export type Signal = (typeof SIGNALS)[number];

/** A pipeline of the file: which telemetry goes to the exporter, from which receivers of the owner's own file. */
export interface Pipeline {
  readonly signal: Signal;
  /** Ids such as `otlp` or `filelog/app`. */
  readonly receivers: readonly string[];
}

/** The pipelines of a collector as it is packaged: all that its receiver `otlp` takes. */
export const DEFAULT_PIPELINES: readonly Pipeline[] = SIGNALS.map((signal) => ({ signal, receivers: ['otlp'] }));

/** A configuration that no collector takes. Its message has no value of it. */
export class BadConfiguration extends Error {
  override readonly name = 'BadConfiguration';
}

const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,256}$/;
const VISIBLE = /^[\x20-\x7e]*$/;

/**
 * Both names of the collector's exporter of OTLP over HTTP: those from 0.144 on warn of the second. The service has
 * them in `config/opamp.ts`: the daemon imports nothing of it, as one of another repository could not.
 */
export type ExporterType = 'otlp_http' | 'otlphttp';

/** The settings of the daemon's command line about the collector that reads the file. */
export interface Collector {
  /** {@link DEFAULT_PIPELINES} where none are given. */
  readonly pipelines: readonly Pipeline[] | undefined;
  /** `otlp_http` where none is given. */
  readonly exporter: ExporterType | undefined;
}

/** The text of the file. @throws BadConfiguration */
export function collectorFile(
  { enabled, endpoint, headers }: DeviceConfig['otel'],
  { pipelines = DEFAULT_PIPELINES, exporter = 'otlp_http' }: Partial<Collector> = {},
): string {
  if (!enabled || endpoint === '') return idleFile(pipelines);
  if (!VISIBLE.test(endpoint)) throw new BadConfiguration('The endpoint has a character that no address takes.');
  const lines = Object.entries(headers).map(([name, value]) => {
    if (!HEADER_NAME.test(name)) throw new BadConfiguration('A header has a name that none may have.');
    if (!VISIBLE.test(value)) throw new BadConfiguration(`${name} has a character that no header takes.`);
    return `      ${quoted(name)}: ${quoted(value)}\n`;
  });
  return [
    HEADING,
    'exporters:\n',
    `  ${exporter}/muster:\n`,
    `    endpoint: ${quoted(endpoint)}\n`,
    lines.length === 0 ? '    headers: {}\n' : '    headers:\n',
    ...lines,
    ...service(pipelines, `${exporter}/muster`),
  ].join('');
}

/** The file while nothing is to be exported. */
export const idleFile = (pipelines: readonly Pipeline[] = DEFAULT_PIPELINES): string =>
  [HEADING, 'exporters:\n', '  nop/muster: {}\n', ...service(pipelines, 'nop/muster')].join('');

const service = (pipelines: readonly Pipeline[], exporter: string): string[] => [
  'service:\n',
  '  pipelines:\n',
  ...pipelines.flatMap(({ signal, receivers }) => [
    `    ${signal}/muster:\n`,
    `      receivers: [${receivers.map((id) => quoted(id)).join(', ')}]\n`,
    `      exporters: [${quoted(exporter)}]\n`,
  ]),
];

/**
 * A text as a quoted scalar of YAML that the collector reads as exactly this text. It is JSON, which YAML contains, in
 * ASCII alone: no character can end the line, the quotes or the document. The service has the same in
 * `opamp/collector-scalar.ts`, and the package `yaml` would leave the controls above U+007E as they are; the daemon has
 * the client and the platform alone, as one of another repository would.
 */
export const quoted = (text: string): string =>
  JSON.stringify(text.replaceAll('$', '$$$$')).replaceAll(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
