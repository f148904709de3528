import type { Mutant } from './mutant.ts';

/** Apps, their codes and the keys that change them. */
export const APPS: readonly Mutant[] = [
  {
    name: 'a name is measured in UTF-16 code units',
    file: 'src/api/http/text.ts',
    search: 'return Array.from(value).length > codePointsMax;',
    replacement: 'return value.length > codePointsMax;',
    rule: 'A1: a name has at most 100 Unicode code points.',
    caughtBy: ['test/api/operator/accounts.test.ts', 'test/api/v1/apps.test.ts', 'test/api/http/text.test.ts'],
  },
  {
    name: 'a used code stays open',
    file: 'src/domain/apps/app-state.ts',
    search: `const used = spend(older, older.codes.slice(0, 1), 'used');`,
    replacement: 'const used = older;',
    rule: 'A5: a code is single-use.',
    caughtBy: [
      'test/api/device/enroll-races.test.ts',
      'test/api/device/enroll-refused.test.ts',
      'test/api/device/enroll.test.ts',
      'test/api/v1/app-lifecycle.test.ts',
    ],
  },
  {
    name: 'a 21st code stays open beside the others',
    file: 'src/domain/apps/app-state.ts',
    search: 'const surplus = current.codes.length + 1 - LIMITS.openCodesPerAppMax;',
    replacement: 'const surplus = current.codes.length - LIMITS.openCodesPerAppMax;',
    rule: 'A5: an app has at most 20 open codes, and a further one voids the oldest.',
    caughtBy: ['test/api/device/enroll.test.ts', 'test/api/v1/app-lifecycle.test.ts'],
  },
  {
    name: 'a revocation leaves the open codes',
    file: 'src/domain/apps/app-state.ts',
    search: `...rest } = spend(app, app.codes, 'voided');`,
    replacement: '...rest } = app;',
    rule: 'A7: a revocation voids all open codes of the app in the same transaction.',
    caughtBy: [
      'test/api/device/enroll-refused.test.ts',
      'test/api/device/enroll.test.ts',
      'test/api/v1/app-lifecycle.test.ts',
      'test/domain/resource-bindings/bound.test.ts',
    ],
  },
  {
    name: 'issuing a code brings a revoked app back to pending',
    file: 'src/domain/apps/app-state.ts',
    search: 'return { ...bounded, codes: [...bounded.codes, issued] };',
    replacement: `const status = bounded.status === 'revoked' ? 'pending' : bounded.status;
  return { ...bounded, status, codes: [...bounded.codes, issued] };`,
    rule: 'A8: issuing a code alone leaves a revoked app revoked.',
    caughtBy: ['test/api/device/enroll.test.ts', 'test/api/v1/app-lifecycle.test.ts'],
  },
  {
    name: 'a deleted app keeps its place',
    file: 'src/domain/apps/delete-app.ts',
    search: '  apps: Math.max(0, counters.apps - 1),\n',
    replacement: '',
    rule: 'A9: a deletion frees the place of the app on its account.',
    caughtBy: ['test/api/v1/app-limit.test.ts', 'test/domain/mutation/mutation.test.ts'],
  },
  {
    name: 'creates do not expect the count that they read',
    file: 'src/domain/mutation/account-queue.ts',
    search: 'expect: [expectUnchanged(read.counters)],',
    replacement: 'expect: [],',
    rule: 'A10: the limit of 1000 apps is exact under concurrent creates over all replicas.',
    caughtBy: [
      'test/api/v1/app-limit.test.ts',
      'test/domain/mutation/account-queue.test.ts',
      'test/domain/mutation/mutation.test.ts',
    ],
  },
  {
    name: 'a refusal of a create is decided from the reader that authenticated it',
    file: 'src/domain/mutation/account-queue.ts',
    search: 'isCurrent: !handed.atOnce,',
    replacement: 'isCurrent: true,',
    rule: 'A10: what another replica deleted before a create has made room for it.',
    caughtBy: ['test/domain/mutation/account-queue.test.ts'],
  },
  {
    name: 'a code works in the instant of its expiry',
    file: 'src/domain/devices/enrollment.ts',
    search: 'if (binding.at >= open.expiresAt)',
    replacement: 'if (binding.at > open.expiresAt)',
    rule: 'A11: a code is valid only while the clock of the service is before its expiry.',
    caughtBy: [
      'test/api/device/enroll-refused.test.ts',
      'test/api/device/enroll.test.ts',
      'test/api/v1/app-lifecycle.test.ts',
    ],
  },
  {
    name: 'a change does not expect the API key that asked for it',
    file: 'src/domain/mutation/authority.ts',
    search: 'expectUnchanged(found.key), ',
    replacement: '',
    rule: 'A12: a revoked API key changes nothing, not even by a commit that was under way.',
    caughtBy: ['test/domain/mutation/mutation.test.ts'],
  },
];
