import type { Mutant } from './mutant.ts';

/** The collector's address and header, and what must not be told. */
export const SECRETS: readonly Mutant[] = [
  {
    name: 'a lost key file is made anew over a store that was used',
    file: 'src/service/files/generated-secrets.ts',
    search: 'if (!existsSync(path) && !(await isUnused(store))) {',
    replacement: 'if (!existsSync(path) && !(await isUnused(store)) && path.length === 0) {',
    rule: 'Keys: an embedded store makes a key file for an empty store alone.',
    caughtBy: ['test/service/files/generated-secrets.test.ts'],
  },
  {
    name: 'a file in a directory of all may be of anybody',
    file: 'src/config/trusted-file.ts',
    search: 'if (isShared && !isOf(this.#user, stats)) return',
    replacement: 'if (isShared && at.length === 0) return',
    rule: 'Configuration: a token or key file that others can have put there is refused.',
    caughtBy: ['test/config/trusted-file.test.ts'],
  },
  {
    name: 'a replica joins once, whatever keys it announces later',
    file: 'src/domain/replicas/replicas.ts',
    search: 'if (this.#joinedWith === numbers) return undefined;',
    replacement: 'if (this.#joinedWith !== undefined) return undefined;',
    rule: 'Keys: a rotation relies only on replicas that have joined with the keys which they announce.',
    caughtBy: ['test/domain/replicas/replicas.test.ts'],
  },
  {
    name: 'a percent sign needs no hexadecimal digits behind it',
    file: 'src/domain/otel-config/collector-endpoint.ts',
    search: '|%[0-9A-Fa-f]{2})*)*$/;',
    replacement: '|%)*)*$/;',
    rule: 'O4: an endpoint with a bad percent escape is refused.',
    caughtBy: ['test/api/v1/otel-config-vectors.test.ts', 'test/domain/otel-config/collector-endpoint.test.ts'],
  },
  {
    name: 'the private range 172.16/12 is twice as large',
    file: 'src/domain/otel-config/collector-reach.ts',
    search: `'172.16.0.0/12'`,
    replacement: `'172.16.0.0/11'`,
    rule: 'O5: plain http is for loopback, private addresses and LAN names alone.',
    caughtBy: ['test/domain/otel-config/collector-reach.test.ts'],
  },
  {
    name: 'an Expect header is split off the credential',
    file: 'src/domain/otel-config/collector-header.ts',
    search: '|upgrade|expect|keep-alive|',
    replacement: '|upgrade|keep-alive|',
    rule: 'O7: headers that frame or route a request are never split off the credential.',
    caughtBy: ['test/domain/otel-config/collector-header.test.ts'],
  },
  {
    name: 'the collector header is not bound to its account',
    file: 'src/domain/otel-config/otel-config.ts',
    search: 'export const headerContext = (accountId: string): string => `otel-header:${accountId}`;',
    replacement: `export const headerContext = (_accountId: string): string => 'otel-header:';`,
    rule: 'O9: the ciphertext of the collector header is bound to its account.',
    caughtBy: ['test/domain/history/purges.test.ts'],
  },
  {
    name: 'a header that is replaced leaves no note for the purge',
    file: 'src/domain/otel-config/otel-config.ts',
    search: 'old?.header !== undefined && !(sameHeader && stored) ?',
    replacement: 'old?.header !== undefined && next === undefined && !(sameHeader && stored) ?',
    rule: 'O10: a replaced header leaves the history of the store within 60 s.',
    caughtBy: ['test/domain/history/purges.test.ts'],
  },
  {
    name: 'a refused variable is told with its value',
    file: 'src/config/config.ts',
    search: "issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);",
    replacement:
      "issues.map((issue) => `${issue.path.join('.')}: ${issue.message}, not ${given[issue.path.join('.')]}`);",
    rule: 'Configuration: a rejected value is never repeated, since it may be a secret.',
    caughtBy: ['test/cli/commands/doctor/doctor.test.ts', 'test/config/config.test.ts', 'test/service/process.test.ts'],
  },
];
