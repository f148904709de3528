import type { Mutant } from './mutant.ts';

/** The store, the memory above it, and copies of it. */
export const STORE: readonly Mutant[] = [
  {
    name: 'a commit that writes what another one expects shares its request',
    file: 'src/store/etcd/conflicts.ts',
    search: 'return this.expected.has(key) || this.writes(key);',
    replacement: 'return this.writes(key);',
    rule: 'Group commit: of two commits that each rely on what the other writes, one conflicts.',
    caughtBy: ['test/store/etcd/group-commit.test.ts', 'test/store/etcd/batch.test.ts'],
  },
  {
    name: 'an outage is an error at every failed call',
    file: 'src/store/outages.ts',
    search: '    this.#told = true;\n',
    replacement: '',
    rule: 'H15: the log tells an outage once when it begins and once when it ends.',
    caughtBy: ['test/store/outages.test.ts', 'test/service/outage-log.test.ts'],
  },
  {
    name: 'memory that is behind the store is called fresh',
    file: 'src/store/watch-cache/watch-cache.ts',
    search: 'if (filler.filled && head.revision <= filler.applied) {',
    replacement: 'if (filler.filled) {',
    rule: 'A12: memory is read only once it has reached the revision of head, so that no replica accepts what was revoked.',
    caughtBy: [
      'test/domain/fleet/fleet.test.ts',
      'test/domain/mutation/mutation.test.ts',
      'test/store/watch-cache/trouble.test.ts',
      'test/store/watch-cache/watch-cache.test.ts',
    ],
  },
  {
    name: 'a holder believes in its lease for longer than etcd does',
    file: 'src/store/etcd/lease/lease.ts',
    search: 'const COUNTED = 0.9;',
    replacement: 'const COUNTED = 1.1;',
    rule: 'Leader lease: a holder takes its hold for lost before the store lets it expire.',
    caughtBy: ['test/store/etcd/lease/holds.test.ts'],
  },
  {
    name: 'a hold does not watch its expiry',
    file: 'src/store/etcd/lease/hold.ts',
    search: '    this.watchExpiry();\n    void this.keep();',
    replacement: '    void this.keep();',
    rule: 'Leader lease: a holder that is cut off takes its hold for lost by itself.',
    caughtBy: ['test/store/etcd/lease/holds.test.ts'],
  },
  {
    name: 'the sum of a backup is not compared',
    file: 'src/domain/backup/file-format.ts',
    search: `if (trailer.entries !== this.#entries || trailer.sha256 !== this.#hash.digest('hex')) {`,
    replacement: 'if (trailer.entries !== this.#entries) {',
    rule: 'Backup: a file that was altered is refused, and nothing is written.',
    caughtBy: [
      'test/cli/commands/backup.test.ts',
      'test/domain/backup/file-format.test.ts',
      'test/domain/backup/restore.test.ts',
    ],
  },
  {
    name: 'a restore leaves the open codes as they were',
    file: 'src/domain/backup/restore-rules.ts',
    search: 'return keepCodes ? now(value) : withoutCodes(entry, counters);',
    replacement: 'return now(value);',
    rule: 'Restore: open codes are void after a restore unless they are kept on purpose.',
    caughtBy: ['test/cli/commands/backup.test.ts', 'test/domain/backup/restore.test.ts'],
  },
];
