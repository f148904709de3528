import { loadYaml } from '@kubernetes/client-node';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  BadConfiguration,
  collectorFile,
  DEFAULT_PIPELINES,
  idleFile,
  quoted,
} from '../../../src/cli/agent/collector-file.ts';
import { runs } from '../../support/run/effort.ts';

const otel = (more: object = {}) => ({
  enabled: true,
  endpoint: 'https://otel.example.com',
  headers: {},
  evidenceLevel: 'hashes' as const,
  ...more,
});

/** What the collector makes of a value once YAML is read: `$$` is a dollar, any other `$` begins an expansion. */
function expanded(text: string): string {
  expect(text.replaceAll('$$', '')).not.toContain('$');
  return text.replaceAll('$$', '$');
}

/** What the collector has in the end. */
function read(text: string): unknown {
  const file = loadYaml<{ exporters: Record<string, { endpoint: string; headers: Record<string, string> }> }>(text);
  const exporter = file.exporters['otlp_http/muster'];
  if (!exporter) return file;
  const headers = Object.entries(exporter.headers).map(([name, value]) => [expanded(name), expanded(value)]);
  return { endpoint: expanded(exporter.endpoint), headers: Object.fromEntries(headers) as unknown };
}

const pipeline = (signal: string): string =>
  `    ${signal}/muster:\n      receivers: ["otlp"]\n      exporters: ["otlp_http/muster"]\n`;

test('the file as a person reads it', () => {
  expect(collectorFile(otel({ headers: { Authorization: 'Bearer a$b' } }))).toBe(
    '# Written by muster agent run, which replaces it with each change of the configuration.\n' +
      'exporters:\n' +
      '  otlp_http/muster:\n' +
      '    endpoint: "https://otel.example.com"\n' +
      '    headers:\n' +
      '      "Authorization": "Bearer a$$b"\n' +
      'service:\n' +
      '  pipelines:\n' +
      ['traces', 'metrics', 'logs'].map(pipeline).join(''),
  );
});

test.each([
  ['Bearer ${env:HOME}', 'an expansion of the environment'],
  ['$$', 'two dollars'],
  ['$', 'a dollar alone'],
  ['a # b', 'what begins a comment outside of quotes'],
  ['say "hello"', 'double quotes'],
  ["it's", 'a single quote'],
  ['a: b', 'what makes a mapping outside of quotes'],
  ['- a', 'what makes a list'],
  ['C:\\new\\table', 'backslashes that would be escapes'],
  ['yes', 'a word that old YAML takes for a boolean'],
  ['0x1F', 'a number'],
  ['', 'nothing'],
  ['{a: [b]}', 'brackets'],
  ['%TAG !', 'a directive'],
  ['&anchor *alias !tag', 'anchor, alias and tag'],
])('%j arrives as it is (%s)', (value) => {
  expect(read(collectorFile(otel({ headers: { Authorization: value } })))).toEqual({
    endpoint: 'https://otel.example.com',
    headers: { Authorization: value },
  });
});

test('every text is one quoted scalar, of one line and of ASCII, that YAML reads as this text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const scalar = quoted(text);
      expect(scalar).toMatch(/^"[\x20-\x7e]*"$/);
      expect(expanded(loadYaml<{ a: string }>(`a: ${scalar}\n`).a)).toBe(text);
    }),
    { numRuns: runs(300) },
  );
});

test('every header of printable ASCII arrives as it is, and adds no line', () => {
  const value = fc.string({ unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)) });
  fc.assert(
    fc.property(value, (text) => {
      const file = collectorFile(otel({ headers: { 'X-Token': text } }));
      expect(file.split('\n')).toHaveLength(18);
      expect(read(file)).toEqual({ endpoint: 'https://otel.example.com', headers: { 'X-Token': text } });
    }),
    { numRuns: runs(300) },
  );
});

describe('nothing to export', () => {
  test.each([
    [{ enabled: false }, 'disabled'],
    [{ enabled: false, endpoint: '', headers: {} }, 'never stored, or purged'],
    [{ endpoint: '' }, 'no address'],
  ])('%j is the idle file (%s)', (more: object, _why: string) => {
    expect(collectorFile(otel(more))).toBe(idleFile());
  });
});

type Components = Record<string, unknown>;
interface CollectorConfig {
  readonly receivers?: Components;
  readonly exporters?: Components;
  readonly service?: {
    readonly pipelines?: Record<string, { readonly receivers?: string[]; readonly exporters?: string[] }>;
  };
}

/** As the collector merges files: maps by their names, while a list replaces the one before it. */
function merged(one: unknown, other: unknown): unknown {
  if (!isMap(one) || !isMap(other)) return other;
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return Object.fromEntries(
    Array.from(names, (name) => [name, name in other ? merged(one[name], other[name]) : one[name]]),
  );
}
const isMap = (value: unknown): value is Components =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What the collector's validation refuses (otelcol/config.go and service/pipelines/config.go of its source). */
function faultsOf({ receivers = {}, exporters = {}, service }: CollectorConfig): string[] {
  const pipelines = Object.entries(service?.pipelines ?? {});
  return [
    ...(Object.keys(receivers).length === 0 ? ['no receiver'] : []),
    ...(Object.keys(exporters).length === 0 ? ['no exporter'] : []),
    ...(pipelines.length === 0 ? ['no pipeline'] : []),
    ...pipelines.flatMap(([name, pipeline]) => [
      ...(pipeline.receivers?.length ? [] : [`${name} has no receiver`]),
      ...(pipeline.exporters?.length ? [] : [`${name} has no exporter`]),
      ...(pipeline.receivers ?? []).filter((id) => !(id in receivers)).map((id) => `${name} names ${id}`),
      ...(pipeline.exporters ?? []).filter((id) => !(id in exporters)).map((id) => `${name} names ${id}`),
    ]),
  ];
}

describe.each([
  ['enabled', otel()],
  ['disabled, or purged', otel({ enabled: false })],
])('while the configuration is %s', (_what, config) => {
  const traces = { receivers: ['otlp'], processors: ['batch'], exporters: ['debug'] };
  const OWN = { receivers: { otlp: {} }, exporters: { debug: {} }, service: { pipelines: { traces } } };

  test.each<[string, CollectorConfig]>([
    ['pipelines of its own', OWN],
    ['receivers alone', { receivers: { otlp: {} } }],
    [
      'processors for the pipelines of the file',
      {
        receivers: { otlp: {} },
        service: { pipelines: { 'traces/muster': { processors: ['batch'] } as object } },
      },
    ],
  ])('a collector whose owner has %s starts, in either order of the files', (_has, own) => {
    const file = loadYaml<CollectorConfig>(collectorFile(config));
    expect(faultsOf(merged(own, file) as CollectorConfig)).toEqual([]);
    expect(faultsOf(merged(file, own) as CollectorConfig)).toEqual([]);
    expect(merged(own, file)).toMatchObject(own);
  });

  test('the receivers are those that the daemon is told', () => {
    const pipelines = [{ signal: 'logs', receivers: ['otlp', 'filelog/app'] }] as const;
    const file = loadYaml<CollectorConfig>(collectorFile(config, { pipelines }));
    expect(file.service?.pipelines).toEqual({
      'logs/muster': { receivers: ['otlp', 'filelog/app'], exporters: Object.keys(file.exporters ?? {}) },
    });
  });

  test('an owner without the receiver is told by the collector which one is missing', () => {
    const file = loadYaml<CollectorConfig>(collectorFile(config));
    expect(faultsOf(merged({ receivers: { filelog: {} } }, file) as CollectorConfig)).toEqual(
      DEFAULT_PIPELINES.map(({ signal }) => `${signal}/muster names otlp`),
    );
  });
});

test('collectors before 0.144 get the name of the exporter that they know', () => {
  const today = collectorFile(otel());
  expect(today).toContain('otlp_http/muster');
  expect(collectorFile(otel(), { exporter: 'otlphttp' })).toBe(today.replaceAll('otlp_http/', 'otlphttp/'));
});

test('nothing goes anywhere while nothing is to be exported', () => {
  expect(loadYaml<CollectorConfig>(idleFile()).exporters).toEqual({ 'nop/muster': {} });
});

describe('a configuration that no collector takes', () => {
  test.each([
    [{ headers: { Authorization: 'secret\nX-Other: planted' } }, /^Authorization has a character/, 'a second header'],
    [{ headers: { Authorization: 'secret\r' } }, /^Authorization has a character/, 'a carriage return'],
    [{ headers: { 'secret\n': 'x' } }, /^A header has a name/, 'a line in a name'],
    [{ headers: { '': 'x' } }, /^A header has a name/, 'no name'],
    [{ endpoint: 'https://otel.example.com/\nsecret' }, /^The endpoint has a character/, 'a line in the address'],
  ])('%j is refused, without its value (%s)', (more: object, says: RegExp, _why: string) => {
    expect(() => collectorFile(otel(more))).toThrow(BadConfiguration);
    expect(() => collectorFile(otel(more))).toThrow(says);
    expect(() => collectorFile(otel(more))).not.toThrow(/secret/);
  });
});
