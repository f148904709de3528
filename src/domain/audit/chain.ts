import { hash } from 'node:crypto';
import { type ChainRecord, type SealRecord, instantOf } from '../records/audit-records.ts';
import { withOwnBytes } from './own-bytes.ts';

/*
 * The rules of the chain, as pure functions. Writers of one account never wait for each other's entry: the leader seals
 * new entries afterwards, in the order of (store revision, key). That order is the store's own: an entry whose commit
 * came late has an older instant in its key, and keeps its place in the order.
 */

/** An entry that is in no block yet. */
export interface UnsealedEntry {
  /** The last part of its key. */
  readonly suffix: string;
  readonly revision: number;
  /** The `entryDigest` of its stored value. */
  readonly digest: string;
  /** The bytes that its account is charged with (`ownBytesOf`). */
  readonly ownBytes: number;
}

/** A block holds whole revisions: a commit has at most 127 entries, so that none is larger than this. */
export const BLOCK_ENTRIES_MAX = 200;

/** SHA-256 of an entry's stored text, base64url. */
export const entryDigest = (value: string): string => hash('sha256', value, 'base64url');

/**
 * The chain of an account without blocks. Its digest is made from the account, so that no other account's blocks fit.
 */
export function emptyChain(accountId: string): ChainRecord {
  const digest = hash('sha256', `muster audit chain of ${accountId}`, 'base64url');
  const own = { bytes: 0, number: 0, base: 0 };
  return { number: 0, digest, at: 0, through: 0, base: { number: 0, digest }, cutting: false, own };
}

/** SHA-256 over the JSON of `[number, previous, at, entries]`, base64url: a block has exactly one such text. */
export const blockDigest = ({ number, previous, at, entries }: Omit<SealRecord, 'digest'>): string =>
  hash('sha256', JSON.stringify([number, previous, at, entries]), 'base64url');

/** Cuts unsealed entries into the contents of the next blocks, in order; entries of one revision are in one block. */
export function portions(unsealed: readonly UnsealedEntry[]): readonly (readonly UnsealedEntry[])[] {
  const cut: UnsealedEntry[][] = [];
  for (const whole of revisionsOf(unsealed.toSorted(byRevision))) {
    const last = cut.at(-1);
    if (last && last.length + whole.length <= BLOCK_ENTRIES_MAX) last.push(...whole);
    else cut.push([...whole]);
  }
  return cut;
}

function* revisionsOf(inOrder: readonly UnsealedEntry[]): Iterable<readonly UnsealedEntry[]> {
  let whole: UnsealedEntry[] = [];
  for (const entry of inOrder) {
    if (whole[0] && whole[0].revision !== entry.revision) {
      yield whole;
      whole = [];
    }
    whole.push(entry);
  }
  if (whole.length > 0) yield whole;
}

export const byRevision = (a: UnsealedEntry, b: UnsealedEntry): number =>
  a.revision - b.revision || (a.suffix < b.suffix ? -1 : 1);

/** Returns the next block of a chain, and the chain's head with it. */
export function sealed(
  chain: ChainRecord,
  portion: readonly UnsealedEntry[],
  at: number,
): { readonly block: SealRecord; readonly chain: ChainRecord } {
  const number = chain.number + 1;
  const entries = portion.map((entry): [string, string] => [entry.suffix, entry.digest]);
  const content = { number, previous: chain.digest, at, entries };
  const digest = blockDigest(content);
  const through = portion.at(-1)?.revision ?? chain.through;
  const ownBytes = portion.reduce((sum, entry) => sum + entry.ownBytes, 0);
  const next = withOwnBytes({ ...chain, number, digest, at, through }, chain, ownBytes);
  return { block: { ...content, digest }, chain: next };
}

/**
 * The newest instant of a block's entries, in milliseconds since 1970; 0 where none has one. The retention goes by it.
 */
export const newestOf = ({ entries }: SealRecord): number =>
  Math.max(0, ...entries.map(([suffix]) => instantOf(suffix)).filter((at) => !Number.isNaN(at)));

/**
 * Returns a chain for a restore, in whose store every revision is another one: sealed entries must lie at or below
 * `through`, and unsealed ones above it. So the restore
 * 1. writes the audit entries that a block of `seal/` names, and the blocks as they are;
 * 2. writes each `chain/` record as this function makes it, with the newest revision of the commits of step 1;
 * 3. writes the other audit entries, in commits after these. The leader seals them within seconds.
 * The verification reports an entry in the wrong half as `added`, or, where it is sealed twice, as `backdated`.
 */
export const withThrough = (chain: ChainRecord, revision: number): ChainRecord => ({ ...chain, through: revision });
