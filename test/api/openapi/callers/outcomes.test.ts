import { expect, test } from 'vitest';
import { DOCUMENT_NAMES } from '../../../../src/api/openapi/apis.ts';
import { CALLERS } from '../../../../src/api/openapi/callers/outcomes.ts';

/* CONTRACT.md#callers: an operation that says nothing of its callers is closed to all that are not for everything. */

const FOR_EVERYTHING: ReadonlySet<string> = new Set(['full', 'daemon', 'operator']);
const UNKNOWN = { access: 'everyone', roles: { everyone: true }, keyUse: 'write', credential: 'none' } as object;

test.each(DOCUMENT_NAMES)('%s: what names no caller, or one that is unknown, is for nobody else', (api) => {
  for (const says of [{}, UNKNOWN]) {
    const operation = { path: '/accounts/:accountId/apps/:appId', ...says };
    for (const { name, outcome } of CALLERS[api]) {
      const isOpen = outcome(operation) === 'yes';
      expect([name, isOpen || typeof outcome(operation) === 'number']).toEqual([name, true]);
      expect([name, isOpen]).toEqual([name, FOR_EVERYTHING.has(name)]);
    }
  }
});
