import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { cataloguedSeries } from '../support/monitoring/metrics-catalogue.ts';
import { alerts } from '../support/monitoring/rules.ts';

/* docs/RUNBOOK.md has a section for each alert, where its runbook_url leads. */

const text = readFileSync(resolve(import.meta.dirname, '../../docs/RUNBOOK.md'), 'utf8');
const sections = new Map(
  text
    .split(/^## /m)
    .slice(1)
    .map((section) => [section.slice(0, section.indexOf('\n')), section]),
);

test('there is a section for each alert, and no other', () => {
  expect([...sections.keys()].toSorted()).toEqual(alerts.map(({ alert }) => alert).toSorted());
});

test('every link inside leads to a section', () => {
  const anchors = new Set([...sections.keys()].map((title) => title.toLowerCase()));
  const links = [...text.matchAll(/\]\(#([a-z]+)\)/g)].map(([, anchor = '']) => anchor);
  expect(links.length).toBeGreaterThan(10);
  expect(links.filter((anchor) => !anchors.has(anchor))).toEqual([]);
});

test('its queries read only series that exist', () => {
  const exists = new Set(cataloguedSeries().map(({ name }) => name));
  const named = [...text.matchAll(/\b(?:muster|process|nodejs)_[a-z0-9_]+/g)].map(([name]) => name);
  const unknown = named.filter((name) => !exists.has(name) && !exists.has(name.replace(/_(?:bucket|count|sum)$/, '')));
  expect(named.length).toBeGreaterThan(50);
  expect(unknown).toEqual([]);
});

test('what it runs in a pod is there: the command, and no source', () => {
  const inPods = [...text.matchAll(/kubectl .*\bexec\b.* -- (.*)$/gm)].map(([, command = '']) => command);
  expect(inPods.length).toBeGreaterThan(1);
  expect(inPods.filter((command) => !command.startsWith('muster '))).toEqual([]);
});

describe.each(alerts)('$alert', ({ alert, annotations }) => {
  test('its runbook_url leads to its section', () => {
    const anchor = new URL(annotations.runbook_url).hash.slice(1);
    expect([...sections.keys()].map((title) => title.toLowerCase())).toContain(anchor);
  });

  test('its section says what it means, how bad it is, what to look at first, how to mend it, and when it is false', () => {
    const section = sections.get(alert) ?? '';
    const leads = [...section.matchAll(/^\*\*([A-Z][a-z ]+)\.\*\* \S/gm)].map(([, lead]) => lead);
    expect(leads).toEqual(['Means', 'How bad', 'Mend', 'False when']);
    const [, commands = ''] = /```sh\n(.*?)```/s.exec(section) ?? [];
    expect(commands.trimEnd().split('\n')).toHaveLength(3);
  });
});
