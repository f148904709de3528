import { createHash } from 'node:crypto';
import { isMap, isNode, isScalar, LineCounter, parseDocument, visit, type Document, type Scalar } from 'yaml';
import type { OpampConfig } from '../../config/opamp.ts';
import { collectorScalar } from '../../opamp/collector-scalar.ts';
import { LIMITS } from '../limits.ts';
import type { DeliveredSettings } from '../otel-config/delivered-config.ts';

/** A template that cannot be used. Its message names the rule and the line, never what stands there. */
export class BadTemplate extends Error {
  override readonly name = 'BadTemplate';
}

/** The installation's template of a collector's configuration. */
export interface CollectorTemplate {
  /** Identifies the text of the template. */
  readonly fingerprint: string;
  /** The configuration of a collector, as YAML, with the header in clear. */
  render(settings: DeliveredSettings): string;
}

/** A template may have these in the place of a value, each as a plain or quoted scalar of its own. */
const PLACEHOLDERS = ['$(MUSTER_ENDPOINT)', '$(MUSTER_HEADERS)', '$(MUSTER_EVIDENCE_LEVEL)'] as const;
type Placeholder = (typeof PLACEHOLDERS)[number];
/** Without these a configuration would go nowhere, or without its credential. */
const REQUIRED: readonly Placeholder[] = ['$(MUSTER_ENDPOINT)', '$(MUSTER_HEADERS)'];
const MARK = '$(MUSTER_';

/** The place of a placeholder in the text. */
interface Place {
  readonly placeholder: Placeholder;
  readonly start: number;
  readonly end: number;
}

/** A sample of all that can be in a value: the template is tried with it. */
const SAMPLE: DeliveredSettings = {
  enabled: true,
  endpoint: 'https://collector.example:4318/a"b\'c#d: {e} ${env:HOME} $$',
  headers: { 'X-Sample': '"${file:/etc/hostname}\': #$$ - [x]' },
  evidenceLevel: 'redacted',
};

/**
 * Parses the text of a template. The placeholders are found in the parsed document and replaced at their places, so
 * that the rest stays as it was written, and no value can become anything but a value; what comes out is parsed once
 * more.
 * @throws BadTemplate
 */
export function collectorTemplate(text: string): CollectorTemplate {
  const document = documentOf(text);
  const places = placesIn(document);
  const missing = REQUIRED.find((name) => !places.some(({ placeholder }) => placeholder === name));
  if (missing !== undefined) throw new BadTemplate(`the template has no ${missing}`);
  const render = (settings: DeliveredSettings): string => rendered(text, places, settings);
  const sample = documentOf(render(SAMPLE));
  if (JSON.stringify(sample.toJS()) !== expected(document)) {
    throw new BadTemplate('a placeholder does not stand for a value of its own');
  }
  return { fingerprint: createHash('sha256').update(text).digest('base64url').slice(0, 12), render };
}

function documentOf(text: string): Document.Parsed {
  if (Buffer.byteLength(text) > LIMITS.opampTemplateBytesMax) {
    throw new BadTemplate(`the template has more than ${LIMITS.opampTemplateBytesMax} bytes`);
  }
  const lines = new LineCounter();
  // The parser's own search for names that stand twice compares each with all others.
  const document = parseDocument(text, { logLevel: 'error', uniqueKeys: false, lineCounter: lines });
  const lineOf = (at: number): number => lines.linePos(at).line;
  const [fault] = [...document.errors, ...document.warnings];
  if (fault) throw new BadTemplate(`line ${lineOf(fault.pos[0])}: it is no YAML (${fault.code})`);
  if (!isMap(document.contents)) throw new BadTemplate('the template must be a mapping');
  visit(document, {
    // Each alias may repeat a whole part: a few lines could become gigabytes.
    Alias() {
      throw new BadTemplate('the template has an alias; write the value out');
    },
    Map(_, { items }) {
      const names = new Set<unknown>();
      for (const { key } of items) {
        const name = isScalar(key) ? key.value : key;
        if (names.has(name)) throw new BadTemplate(`line ${lineOf(rangeStart(key))}: a field stands twice`);
        names.add(name);
      }
    },
  });
  return document;
}

const rangeStart = (node: unknown): number => (isNode(node) ? (node.range?.[0] ?? 0) : 0);

function placesIn(document: Document.Parsed): readonly Place[] {
  const places: Place[] = [];
  visit(document, {
    Scalar(key, node) {
      if (typeof node.value !== 'string' || !node.value.includes(MARK)) return;
      const placeholder = PLACEHOLDERS.find((name) => name === node.value);
      if (placeholder === undefined)
        throw new BadTemplate(`a value has more than a placeholder: ${PLACEHOLDERS.join(', ')}`);
      if (key === 'key') throw new BadTemplate(`${placeholder} cannot be the name of a field`);
      places.push({ placeholder, ...rangeOf(node) });
    },
  });
  return places.toSorted((one, other) => one.start - other.start);
}

function rangeOf({ range }: Scalar): { readonly start: number; readonly end: number } {
  if (!range) throw new BadTemplate('a placeholder has no place in the text');
  return { start: range[0], end: range[1] };
}

function rendered(text: string, places: readonly Place[], settings: DeliveredSettings): string {
  let result = '';
  let from = 0;
  for (const { placeholder, start, end } of places) {
    result += text.slice(from, start) + valueOf(placeholder, settings);
    from = end;
  }
  return result + text.slice(from);
}

/** Nothing of a value is expanded by the collector, whatever it looks like. */
function valueOf(placeholder: Placeholder, { endpoint, headers, evidenceLevel }: DeliveredSettings): string {
  switch (placeholder) {
    case '$(MUSTER_ENDPOINT)':
      return collectorScalar(endpoint);
    case '$(MUSTER_EVIDENCE_LEVEL)':
      return collectorScalar(evidenceLevel);
    case '$(MUSTER_HEADERS)': {
      const pairs = Object.entries(headers).map(
        ([name, value]) => `${collectorScalar(name)}: ${collectorScalar(value)}`,
      );
      return `{${pairs.join(', ')}}`;
    }
  }
}

/** The content that the template must have once the sample stands in it, as JSON; every `$` of a value is doubled. */
function expected(document: Document.Parsed): string {
  const doubled = (value: string): string => value.replaceAll('$', '$$$$');
  const values: Readonly<Record<Placeholder, unknown>> = {
    '$(MUSTER_ENDPOINT)': doubled(SAMPLE.endpoint),
    '$(MUSTER_EVIDENCE_LEVEL)': SAMPLE.evidenceLevel,
    '$(MUSTER_HEADERS)': Object.fromEntries(
      Object.entries(SAMPLE.headers).map(([name, value]) => [doubled(name), doubled(value)]),
    ),
  };
  return JSON.stringify(document.toJS(), (_, value: unknown) =>
    PLACEHOLDERS.some((name) => name === value) ? values[value as Placeholder] : value,
  );
}

/**
 * The template of an installation that states none: all that programs on the machine send by OTLP goes to the collector
 * of the account, by components and pipelines under names of their own.
 * @param exporter the name of the exporter of OTLP over HTTP: collectors before 0.144 know the second alone
 */
export const defaultTemplate = (exporter: OpampConfig['exporter']): string => `receivers:
  otlp/muster:
    protocols:
      grpc:
        endpoint: 127.0.0.1:4317
      http:
        endpoint: 127.0.0.1:4318
exporters:
  ${exporter}/muster:
    endpoint: $(MUSTER_ENDPOINT)
    headers: $(MUSTER_HEADERS)
service:
  pipelines:
    traces/muster:
      receivers: [otlp/muster]
      exporters: [${exporter}/muster]
    metrics/muster:
      receivers: [otlp/muster]
      exporters: [${exporter}/muster]
    logs/muster:
      receivers: [otlp/muster]
      exporters: [${exporter}/muster]
`;

/** The one for collectors of today. */
export const DEFAULT_TEMPLATE = defaultTemplate('otlp_http');

/** The offer where nothing is to be exported. A collector that has files of its own goes on with them. */
export const EMPTY_CONFIGURATION = '{}\n';
