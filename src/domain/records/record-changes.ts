/** A credential's hash that was sent alone is bound provisionally (domain/devices/credential-binding.ts). */
export const PROVISIONAL_BINDINGS = 'provisional-bindings';

/**
 * Records of the shared rate window date everything by revisions, and say the same by wall clocks for versions that do
 * not know this. A later version may leave the wall clocks out once every replica knows it. A replica that knows it
 * answers the questions of others for the ages of revisions.
 */
export const RATE_WINDOW_AGES = 'rate-window-ages';

/** An API key may expire; a program that does not know this refuses such a key. */
export const API_KEY_EXPIRY = 'api-key-expiry';

/**
 * Apps that custom resources adopt, and accounts and apps that remember which resource released them; a program that
 * does not know this keeps the memory when it gives the account to another resource.
 */
export const RESOURCE_ADOPTION = 'resource-adoption';

/**
 * What agents of OpAMP say of themselves; a program that does not know these records leaves them when an app is deleted.
 */
export const OPAMP_AGENTS = 'opamp-agents';

/**
 * Additive changes of records that this program knows, by name. Each replica announces them
 * (domain/replicas/replicas.ts), and nobody writes such a change before every live replica knows it, so that a rolling
 * upgrade and its rollback need no pause (docs/adr/0023-neighbouring-versions.md).
 *
 * To add one: the new field is optional in its schema, and its readers work without it. Put a name here, such as
 * `app-labels`, and let the code that writes the field ask `Replicas.everyReplicaKnows('app-labels')` first; while that
 * is false it writes the record as before. A name stays for as long as a program that lacks it may run beside this one.
 * A change that an older program cannot read is no such change: it raises `FORMAT` (records.ts).
 */
export const RECORD_CHANGES: readonly string[] = [
  PROVISIONAL_BINDINGS,
  RATE_WINDOW_AGES,
  API_KEY_EXPIRY,
  RESOURCE_ADOPTION,
  OPAMP_AGENTS,
];
