import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { BadTemplate, collectorTemplate, DEFAULT_TEMPLATE } from '../../../src/domain/opamp/collector-template.ts';
import type { DeliveredSettings } from '../../../src/domain/otel-config/delivered-config.ts';
import { runs } from '../../support/run/effort.ts';

const SETTINGS: DeliveredSettings = {
  enabled: true,
  endpoint: 'https://otel.example.com',
  headers: { Authorization: 'secret' },
  evidenceLevel: 'hashes',
};
/** What a collector makes of a value: it expands `$NAME` and `${…}`, and `$$` is a `$`. */
const expanded = (value: string): string => {
  if (/(?<!\$)(?:\$\$)*\$(?!\$)/.test(value)) throw new Error('something would be expanded');
  return value.replaceAll('$$', '$');
};

interface Rendered {
  readonly exporters: Record<string, { endpoint: string; headers: Record<string, string> }>;
  readonly service: { pipelines: Record<string, { receivers: string[]; exporters: string[] }> };
}
const rendered = (settings: Partial<DeliveredSettings>, text = DEFAULT_TEMPLATE): Rendered =>
  parse(collectorTemplate(text).render({ ...SETTINGS, ...settings })) as Rendered;

describe('the built-in template', () => {
  test('exports what comes by OTLP under names of its own', () => {
    const { exporters, service } = rendered({});
    expect(exporters).toEqual({
      'otlp_http/muster': { endpoint: 'https://otel.example.com', headers: { Authorization: 'secret' } },
    });
    expect(Object.keys(service.pipelines)).toEqual(['traces/muster', 'metrics/muster', 'logs/muster']);
    for (const pipeline of Object.values(service.pipelines)) {
      expect(pipeline).toEqual({ receivers: ['otlp/muster'], exporters: ['otlp_http/muster'] });
    }
  });

  test('without a header there is none', () => {
    expect(rendered({ headers: {} }).exporters['otlp_http/muster']?.headers).toEqual({});
  });
});

describe('a value', () => {
  test.each([
    ['${env:HOME}', 'an expansion'],
    ['${file:/etc/hostname}', 'another one'],
    ['$HOME', 'the short one'],
    ['$$', 'what would be a dollar'],
    ['$', 'a dollar alone'],
    ['"quotes" and \'quotes\'', 'quotes'],
    ['a: b', 'a colon'],
    ['x #y', 'a comment'],
    ['{a: [b, c]}', 'brackets'],
    ['\\n \\u0041 \\', 'backslashes'],
    ['yes', 'a boolean of old'],
    ['0x10', 'a number'],
    ['$(MUSTER_ENDPOINT)', 'a placeholder'],
    ['- &anchor *alias !tag %x @y `z', 'the signs of YAML'],
  ])('%s arrives byte for byte (%s)', (value) => {
    const { exporters } = rendered({ headers: { 'Api-Key': value } });
    expect(expanded(exporters['otlp_http/muster']?.headers['Api-Key'] ?? '')).toBe(value);
  });

  test('any header and endpoint arrive byte for byte, and the rest is as it was', () => {
    const printable = fc.string({
      unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
    });
    fc.assert(
      fc.property(printable, printable, (endpoint, header) => {
        const { exporters, service } = rendered({ endpoint, headers: { Authorization: header } });
        const own = exporters['otlp_http/muster'];
        expect([expanded(own?.endpoint ?? ''), expanded(own?.headers['Authorization'] ?? '')]).toEqual([
          endpoint,
          header,
        ]);
        expect(Object.keys(service.pipelines)).toHaveLength(3);
      }),
      { numRuns: runs(100) },
    );
  });
});

describe('a template', () => {
  const OWN = `# a remark with $(MUSTER_ENDPOINT) in it
exporters:
  "otlp_http/own": {endpoint: $(MUSTER_ENDPOINT), headers: '$(MUSTER_HEADERS)', level: "$(MUSTER_EVIDENCE_LEVEL)"}
processors:
  batch:
    timeout: \${env:BATCH}   # expanded by the collector
service: {pipelines: {traces: {exporters: [otlp_http/own]}}}
`;

  test('keeps its own text, remarks and expansions', () => {
    const text = collectorTemplate(OWN).render(SETTINGS);
    expect(text).toBe(
      OWN.replace('endpoint: $(MUSTER_ENDPOINT)', 'endpoint: "https://otel.example.com"')
        .replace("'$(MUSTER_HEADERS)'", '{"Authorization": "secret"}')
        .replace('"$(MUSTER_EVIDENCE_LEVEL)"', '"hashes"'),
    );
  });

  test('has another fingerprint where its text is another one', () => {
    const [one, same, other] = [OWN, OWN, `${OWN}\n`].map((text) => collectorTemplate(text).fingerprint);
    expect([one === same, one === other]).toEqual([true, false]);
    expect(one).toMatch(/^[\w-]{12}$/);
  });

  test.each([
    ['', 'must be a mapping', 'empty'],
    ['- a\n- $(MUSTER_ENDPOINT)\n', 'must be a mapping', 'a list'],
    ['a: $(MUSTER_ENDPOINT)\n', 'has no $(MUSTER_HEADERS)', 'the header would be lost'],
    ['a: $(MUSTER_HEADERS)\n', 'has no $(MUSTER_ENDPOINT)', 'it would go nowhere'],
    ['a: {b: $(MUSTER_ENDPOINT), h: $(MUSTER_HEADERS)\n', 'line', 'no YAML'],
    ['a: 1\na: 2\ne: $(MUSTER_ENDPOINT)\nh: $(MUSTER_HEADERS)\n', 'line 2', 'a field twice'],
    ['e: $(MUSTER_ENDPOINT)/v1\nh: $(MUSTER_HEADERS)\n', 'more than a placeholder', 'a part of a value'],
    ['e: $(MUSTER_OTHER)\nh: $(MUSTER_HEADERS)\n', 'more than a placeholder', 'one that there is not'],
    ['e: |\n  $(MUSTER_ENDPOINT)\nh: $(MUSTER_HEADERS)\n', 'more than a placeholder', 'a block of text'],
    ['$(MUSTER_ENDPOINT): 1\nh: $(MUSTER_HEADERS)\n', 'name of a field', 'in the place of a name'],
    ['e: &x $(MUSTER_ENDPOINT)\nf: *x\nh: $(MUSTER_HEADERS)\n', 'alias', 'an alias'],
    ['e: $(MUSTER_ENDPOINT)\nh: $(MUSTER_HEADERS)\n---\na: 1\n', 'line', 'two documents'],
    ['e: !x $(MUSTER_ENDPOINT)\nh: $(MUSTER_HEADERS)\n', 'line 1', 'a tag that nobody knows'],
    [`e: $(MUSTER_ENDPOINT)\nh: $(MUSTER_HEADERS)\nx: ${'y'.repeat(65_536)}\n`, '65536 bytes', 'too long'],
  ])('%.60j is refused: %s (%s)', (text, why) => {
    expect(() => collectorTemplate(text)).toThrow(BadTemplate);
    expect(() => collectorTemplate(text)).toThrow(why);
  });

  test('that is refused tells nothing of what stands in it', () => {
    const secret = 'Bearer-of-another-exporter';
    for (const text of [`a: "${secret}\n`, `a: ${secret}\n  b: 1\n`, `a: ${secret} $(MUSTER_X)\n`]) {
      let message = '';
      try {
        collectorTemplate(text);
      } catch (error) {
        message = String(error);
      }
      expect(message).toContain('BadTemplate');
      expect(message).not.toContain(secret);
    }
  });
});
