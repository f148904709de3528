import type { Mutant } from './mutant.ts';

/** Metering, the bill and the audit. */
export const NIGHTS: readonly Mutant[] = [
  {
    name: 'an app that is created in a new day leaves the day where it was',
    file: 'src/domain/apps/apps.ts',
    search: '...authorised.write, ...creation.write]',
    replacement: '...authorised.write]',
    rule: 'M1: an instant is never before the one of the same app before it.',
    caughtBy: ['test/service/metering.test.ts'],
  },
  {
    name: 'an app is created at the instant of a clock that is not trusted',
    file: 'src/domain/apps/apps.ts',
    search: 'statusAt: creation.at };',
    replacement: 'statusAt: origin.at };',
    rule: 'M1: an instant is never before the one of the same app before it.',
    caughtBy: ['test/service/metering.test.ts'],
  },
  {
    name: 'a night reads the apps of a batch in one go',
    file: 'src/domain/metering/meter-night.ts',
    search: '    await read(apps);\n',
    replacement: '',
    rule: 'ADR 0008: others go on after 200 apps that were read, an account at least.',
    caughtBy: ['test/domain/metering/night-pauses.test.ts'],
  },
  {
    name: 'the last change after a night tells what was before it',
    file: 'src/domain/metering/changes-since.ts',
    search: 'else if (!account.before.has(appId)) account.before.set(',
    replacement: 'else account.before.set(',
    rule: 'M1: an app counts for a night when its status is active at the end of the day.',
    caughtBy: ['test/service/replicas/metering-model.test.ts', 'test/domain/metering/meter-night.test.ts'],
  },
  {
    name: 'a second run writes over the ledger',
    file: 'src/domain/metering/ledger.ts',
    search: 'const [first, ...others] = entries.map((entry) => expectAbsent(keyOf(entry)));',
    replacement: `const [first, ...others] = await Promise.all(
    entries.map(async (entry) => (await store.get(keyOf(entry))) ?? expectAbsent(keyOf(entry))),
  );`,
    rule: 'M2: a record of the ledger is created only if it is absent.',
    caughtBy: ['test/controller/metering.test.ts'],
  },
  {
    name: 'a late night does not turn back what changed today',
    file: 'src/domain/metering/changes-since.ts',
    search: 'day <= today; day = dayAfter(day)',
    replacement: 'day < today; day = dayAfter(day)',
    rule: 'M3: a late night is rebuilt as of its own midnight, never from the state of today.',
    caughtBy: [
      'test/service/replicas/metering-model.test.ts',
      'test/service/metering.test.ts',
      'test/controller/metering.test.ts',
      'test/domain/metering/meter-night.test.ts',
    ],
  },
  {
    name: 'the ledger is written without the fence of the term',
    file: 'src/domain/metering/ledger.ts',
    search: 'expect: [first, ...others, ...fence, ...(earlier ? [earlier] : [])],',
    replacement: 'expect: [first, ...others, ...(earlier ? [earlier] : [])],',
    rule: 'M4: a leader that lost its lease cannot write.',
    caughtBy: ['test/controller/metering.test.ts'],
  },
  {
    name: 'an amount is cut instead of rounded',
    file: 'src/domain/metering/amount.ts',
    search: '=> (2n * dividend + divisor) / (2n * divisor);',
    replacement: '=> dividend / divisor;',
    rule: 'M5: an amount is rounded once per account, half up.',
    caughtBy: ['test/api/operator/usage.test.ts', 'test/domain/metering/amount.test.ts'],
  },
  {
    name: 'a changed audit entry of the same length is not noticed',
    file: 'src/domain/audit/verify-blocks.ts',
    search: 'else if (stored.digest !== digest) {',
    replacement: 'else if (stored.digest.length !== digest.length) {',
    rule: 'Audit: the verification tells every sealed entry whose text was changed.',
    caughtBy: ['test/api/operator/audit-verification.test.ts', 'test/domain/audit/verify.test.ts'],
  },
];
