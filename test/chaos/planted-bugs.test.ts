import { afterAll, describe, expect, test } from 'vitest';
import { findEtcd, NO_ETCD } from '../support/etcd/etcd-binary.ts';
import { catchBug, caughtLine } from './judgement/bugs-caught.ts';
import { BUGS } from './planted-bugs/bugs.ts';
import { seeded, seedFrom } from './random.ts';

/* A suite that never failed proves nothing: each bug that is planted in the service is found by its rule. */

const etcd = findEtcd();
const SEED = seedFrom(process.env);
const printed: string[] = [`planted bugs, seed ${SEED}`];
afterAll(() => void process.stdout.write(printed.map((line) => `${line}\n`).join('')));

const title = `a planted bug is caught${etcd === undefined ? ` [skipped: ${NO_ETCD}]` : ''}`;

describe.skipIf(etcd === undefined)(title, () => {
  test.each([...BUGS].map(([name, { breaks }]) => [name, breaks]))('%s breaks %s', async (name) => {
    const caught = await catchBug(etcd ?? '', name, seeded(SEED));
    printed.push(caughtLine(caught));
    expect(caught.violations.map(({ rule }) => rule)).toContain(caught.breaks);
  });
});
