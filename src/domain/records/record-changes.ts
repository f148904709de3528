/**
 * Additive changes of records that this program knows, by name. Each replica announces them
 * (domain/replicas/replicas.ts), and nobody writes such a change before every live replica knows it, so that a rolling
 * upgrade and its rollback need no pause (docs/adr/0023-neighbouring-versions.md).
 *
 * To add one: the new field is optional in its schema, and its readers work without it. Put a name here, such as
 * `app-labels`, and let the code that writes the field ask `Replicas.everyReplicaKnows('app-labels')` first; while that
 * is false it writes the record as before. A name stays for as long as a program that asks for it may run beside this
 * one. A change that an older program cannot read is no such change: it raises `FORMAT` (store-records.ts).
 */
export const RECORD_CHANGES: readonly string[] = [
  // No code of this program asks for these: builds from before 0.1.0 do, which may run beside it.
  'provisional-bindings',
  'rate-window-ages',
  'api-key-expiry',
  'resource-adoption',
  'opamp-agents',
];
