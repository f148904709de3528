import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { describeWithHelm, ROOT, template, type Helm } from './support/render.ts';

/*
 * The renderings of the examples, to be read in a review. A change of the chart changes them by intent:
 * `npx vitest run test/charts/golden.test.ts -u` writes them anew.
 */

const EXAMPLES = readdirSync(join(ROOT, 'examples'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

/** Taken over from other files as they are, which have their own tests. */
const TAKEN_OVER = /^kind: (?:CustomResourceDefinition|PrometheusRule)$|^ {2}name: "?muster-dashboard-/m;

function withoutFiles(rendered: string): string {
  const documents = rendered.split(/^---\n/m).filter((document) => document.trim() !== '');
  return documents
    .filter((document) => !TAKEN_OVER.test(document))
    .map((document) => `---\n${document.trimEnd()}\n`)
    .join('');
}

describeWithHelm('an example', () => {
  test('there are three: a laptop, an etcd that is there, GitOps', () => {
    expect(EXAMPLES.toSorted((a, b) => a.localeCompare(b))).toEqual(['external-etcd', 'gitops', 'laptop']);
  });

  test.each(EXAMPLES)('%s is what is kept of it', async (name) => {
    const rendered = await template({ file: join(ROOT, 'examples', name, 'values.yaml') });
    await expect(withoutFiles(rendered)).toMatchFileSnapshot(join(import.meta.dirname, 'golden', `${name}.yaml`));
  });

  test.each(EXAMPLES)('%s is the same each time, and of helm 3 and helm 4', async (name) => {
    const file = join(ROOT, 'examples', name, 'values.yaml');
    const [first, second, third] = await Promise.all(([3, 3, 4] as Helm[]).map((helm) => template({ file, helm })));
    expect(second).toBe(first);
    expect(documents(third)).toEqual(documents(first));
  });
});

/** Both sort by kind; what is of one kind they may give in another order. */
const documents = (rendered = ''): string[] => {
  const each = rendered.split(/^---\n/m).map((document) => document.trimEnd());
  return each.toSorted((a, b) => a.localeCompare(b));
};
