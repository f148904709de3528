import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { describe, expect, test } from 'vitest';
import { opampVariables } from '../../src/config/opamp.ts';
import { collectorTemplate, DEFAULT_TEMPLATE } from '../../src/domain/opamp/collector-template.ts';
import { at } from '../charts/support/render.ts';
import { ROOT } from '../support/repository/source-tree.ts';

/* docs/OPAMP.md: its templates are ones that the service takes, and its tables are those of the code. */

const text = readFileSync(join(ROOT, 'docs/OPAMP.md'), 'utf8');
const blocks = [...text.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block);
const templates = blocks.filter((block) => block.includes('$(MUSTER_'));

describe('the templates of docs/OPAMP.md', () => {
  test('the first one is the built-in one', () => {
    expect(templates[0]).toBe(DEFAULT_TEMPLATE);
  });

  test.each(templates)(
    '%#: the service takes it, and it has only components and pipelines of names of its own',
    (one) => {
      const rendered = collectorTemplate(one).render({
        enabled: true,
        endpoint: 'https://otel.example.com',
        headers: { Authorization: 'Bearer a' },
        evidenceLevel: 'hashes',
      });
      const { service, ...components } = parse(rendered) as Record<string, Record<string, object>>;
      const names = [...Object.values(components), service?.['pipelines'] ?? {}].flatMap((each) => Object.keys(each));
      expect(names.length).toBeGreaterThan(2);
      expect(names.filter((name) => !name.endsWith('/muster'))).toEqual([]);
    },
  );

  test('there is one beside the built-in one', () => {
    expect(templates.length).toBeGreaterThan(1);
  });
});

test('the other block of YAML is a FleetApp', () => {
  const others = blocks.filter((block) => !templates.includes(block)).map((block) => parse(block) as unknown);
  expect(others.map((block) => at(block, 'kind'))).toEqual(['FleetApp']);
});

test('the settings are those of the configuration', () => {
  const told = [...text.matchAll(/^\| `(MUSTER_OPAMP_\w+)`/gm)].map(([, name = '']) => name);
  expect(told).toEqual(Object.keys(opampVariables));
});
