import { describe, expect, test } from 'vitest';
import { OTHERS } from '../support/security/not-promised/others.ts';
import { REACH } from '../support/security/not-promised/reach.ts';
import { SECRETS } from '../support/security/not-promised/secrets.ts';
import { sectionOf, tablesOf, threatModel } from '../support/security/threat-model.ts';

/*
 * The things that SECURITY.md does not promise are indeed not there. A check fails where Muster does what its sentence
 * denies: then the sentence goes, and the promise gets its row.
 */

const CHECKS = { ...SECRETS, ...REACH, ...OTHERS };
const [[, ...rows] = []] = tablesOf(sectionOf(threatModel, 'What is not promised'));

describe('what is not promised', () => {
  test('is the same sentences in the document and here', () => {
    expect(rows.map(([sentence = '']) => sentence).toSorted()).toEqual(Object.keys(CHECKS).toSorted());
  });

  test('has a reason and what to do about it', () => {
    expect(rows.length).toBeGreaterThan(20);
    expect(rows.filter((cells) => cells.length !== 3 || cells.includes('')).map(([sentence]) => sentence)).toEqual([]);
  });

  test.each(Object.entries(CHECKS))('%s', async (_sentence, check) => {
    await check();
  });
});
