import * as z from 'zod';
import { KEYS } from './keys.ts';

/* The chain over an account's audit (docs/adr/0011-a-chain-over-the-audit.md): its blocks, and its head. */

const instant = z.int().min(0);
/** SHA-256, base64url. */
const digest = z.string();

/** `seal/…`: some entries, and the block before. Written once; it goes when its entries do. */
export const sealSchema = z.looseObject({
  /** From 1, without gaps. */
  number: z.int().min(1),
  /** The digest of the block before; of the first one, that of the account's empty chain. */
  previous: digest,
  /** When it was sealed. */
  at: instant,
  /** The last part of an entry's key, and the digest of its stored value, in the order of (store revision, key). */
  entries: z.array(z.tuple([z.string(), digest])).min(1),
  /** Over all of the above (`blockDigest`). */
  digest,
});
export type SealRecord = z.infer<typeof sealSchema>;

/** `chain/…`: where the chain ends, and where it begins since its beginning was cut. */
export const chainSchema = z.looseObject({
  /** Of the newest block, as its digest and its instant; 0 where there is none. */
  number: z.int().min(0),
  digest,
  at: instant,
  /** Every entry up to this store revision is in a block. */
  through: z.int().min(0),
  /** The last block that was cut; the chain begins after it. */
  base: z.looseObject({ number: z.int().min(0), digest }),
  /** The block of `base` is still there: its entries are being removed. */
  cutting: z.boolean(),
});
export type ChainRecord = z.infer<typeof chainSchema>;

/** What a block names an entry by: the rest of its key. */
export const suffixOf = (accountId: string, key: string): string => key.slice(KEYS.audits(accountId).length);
export const auditKey = (accountId: string, suffix: string): string => `${KEYS.audits(accountId)}${suffix}`;

/** The instant that an entry's key begins with; `NaN` where it is none of the service's making. */
export const instantOf = (suffix: string): number =>
  /^[0-9a-z]{9}-/.test(suffix) ? Number.parseInt(suffix.slice(0, 9), 36) : Number.NaN;
