import type { ChainRecord } from '../records/audit-records.ts';

/*
 * A16: how much of an audit its account has brought about itself. The entries of strangers, daemons, operators and the
 * service have bounds of their own and are not charged to it. The leader adds up while it seals, so that no change of
 * an account waits for a counter (docs/adr/0059-a-quota-for-each-account.md).
 */

/** An entry of the store, as far as it is charged. */
interface StoredText {
  readonly key: string;
  readonly value: string;
}

/** Actors that are an account's own: its API keys, people, and the custom resources of its namespace. */
const OWN_ACTORS = ['key:', 'user:', 'kubernetes:'] as const;

/** Whether an actor, as the audit names it, is an account's own. */
export const isOwnActor = (actor: string): boolean => OWN_ACTORS.some((kind) => actor.startsWith(kind));

/** An entry's line in its block: the last part of its key and a digest, as JSON. */
const SEALED_BYTES = 90;

/**
 * The bytes that a store needs for each byte, indices and pages that are not filled among it: measured, 500 bytes of
 * its file for 323.
 */
const BYTES_PER_BYTE = 1.5;

/** The bytes that an entry of the store is charged with. @param more bytes elsewhere that come with it */
export const chargeOf = ({ key, value }: StoredText, more = 0): number =>
  Math.ceil((Buffer.byteLength(key) + Buffer.byteLength(value) + more) * BYTES_PER_BYTE);

/**
 * The bytes that an entry of the audit is charged with, its line in a block among them; 0 where it is not the account's
 * own.
 */
export const ownBytesOf = (entry: StoredText): number => (isOwn(entry.value) ? chargeOf(entry, SEALED_BYTES) : 0);

function isOwn(value: string): boolean {
  try {
    const { actor, asOperator } = JSON.parse(value) as { actor?: unknown; asOperator?: unknown };
    return typeof actor === 'string' && asOperator !== true && isOwnActor(actor);
  } catch {
    // The verification reports it as changed.
    return false;
  }
}

/** The bytes of an account's own sealed entries; undefined while they are not counted. */
export const ownBytesIn = ({ own, number, base }: Pick<ChainRecord, 'own' | 'number' | 'base'>): number | undefined =>
  own?.number === number && own.base === base.number ? own.bytes : undefined;

/** The mark of a count: it is of this stretch of the chain. */
export const ownMark = (bytes: number, { number, base }: Pick<ChainRecord, 'number' | 'base'>): ChainRecord['own'] => ({
  bytes,
  number,
  base: base.number,
});

/** The chain with so many bytes more (or fewer) of the account's own; one that is not counted stays so. */
export function withOwnBytes(chain: ChainRecord, before: ChainRecord, change: number): ChainRecord {
  const bytes = ownBytesIn(before);
  return bytes === undefined ? chain : { ...chain, own: ownMark(Math.max(0, bytes + change), chain) };
}
