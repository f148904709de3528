import * as z from 'zod';
import { KEYS } from './keys.ts';

/* The chain over an account's audit (docs/adr/0011-a-chain-over-the-audit.md): its blocks, and its head. */

/**
 * Takes the place of an account's id in the audit of the service: what the operator does with no single account. No
 * account has it, since ids have 16 characters. It is sealed and kept like the others.
 */
export const OPERATOR_AUDIT = 'operator';

const instant = z.int().min(0);
/** SHA-256, base64url. */
const digest = z.string();

/** `seal/…`: a block of entries, linked to the block before. It is written once and removed with its entries. */
export const sealSchema = z.looseObject({
  /** From 1, without gaps. */
  number: z.int().min(1),
  /** The digest of the block before; in the first block, the digest of the account's empty chain. */
  previous: digest,
  /** When the block was sealed. */
  at: instant,
  /** The last part of an entry's key, and the digest of its stored value, in the order of (store revision, key). */
  entries: z.array(z.tuple([z.string(), digest])).min(1),
  /** The digest over all of the above (`blockDigest`). */
  digest,
});
export type SealRecord = z.infer<typeof sealSchema>;

/** `chain/…`: the end of the chain, and its beginning once older blocks were removed. */
export const chainSchema = z.looseObject({
  /** The number of the newest block, which `digest` and `at` belong to as well; 0 where there is no block. */
  number: z.int().min(0),
  digest,
  at: instant,
  /** Every entry up to this store revision is in a block. */
  through: z.int().min(0),
  /** The last block that was removed; the chain begins after it. */
  base: z.looseObject({ number: z.int().min(0), digest }),
  /** The block of `base` is still there: its entries are being removed. */
  cutting: z.boolean(),
  /**
   * The bytes of the sealed entries that the account's own keys and people have written (audit/own-bytes.ts), for the
   * chain from this base to the block of this number; absent, or of another stretch, until they are counted.
   */
  own: z.looseObject({ bytes: z.int().min(0), number: z.int().min(0), base: z.int().min(0) }).optional(),
});
export type ChainRecord = z.infer<typeof chainSchema>;

/** The name of an entry in a block: the part of its key that follows the account's prefix. */
export const suffixOf = (accountId: string, key: string): string => key.slice(KEYS.audits(accountId).length);
/** The key of an audit entry, by the last part of it. */
export const auditKey = (accountId: string, suffix: string): string => `${KEYS.audits(accountId)}${suffix}`;

/** The instant that an entry's key begins with; `NaN` where the service did not make the key. */
export const instantOf = (suffix: string): number =>
  /^[0-9a-z]{9}-/.test(suffix) ? Number.parseInt(suffix.slice(0, 9), 36) : Number.NaN;

/** The first part of a key of the audit that is not before an instant. */
export const placeAt = (at: number): string => Math.max(0, Math.floor(at)).toString(36).padStart(9, '0');
