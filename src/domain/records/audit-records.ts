import * as z from 'zod';
import { record, type RecordOf } from './registry.ts';
import { instant } from './shapes.ts';

/* The chain over an account's audit (docs/adr/0011-a-chain-over-the-audit.md): its blocks, and its head. */

/**
 * Takes the place of an account's id in the audit of the service: what the operator does with no single account. No
 * account has it, since ids have 16 characters. It is sealed and kept like the others.
 */
export const OPERATOR_AUDIT = 'operator';

/** The actor of what a person does by an access token: a reader sees both. */
export const actorOfToken = (userId: string, tokenId: string): string => `user:${userId}:${tokenId}`;

const PERSON = /^user:([^:]+)(?::([^:]+))?$/;

/** The user who acts, by a session or by an access token; undefined for any other actor. */
export const userOfActor = (actor: string): string | undefined => PERSON.exec(actor)?.[1];

/** The access token by which a user acts, and the user; undefined for any other actor. */
export function tokenOfActor(actor: string): { readonly userId: string; readonly tokenId: string } | undefined {
  const [, userId, tokenId] = PERSON.exec(actor) ?? [];
  return userId === undefined || tokenId === undefined ? undefined : { userId, tokenId };
}

/** SHA-256, base64url. */
const digest = z.string();

/** The first part of a key of the audit that is not before an instant. */
export const placeAt = (at: number): string => Math.max(0, Math.floor(at)).toString(36).padStart(9, '0');

export const auditRecords = {
  audit: record(
    'audit/<accountId>/<entry>',
    {
      schema: z.looseObject({
        at: instant,
        /**
         * `operator`, `operator:<name>`, `operator:<name>:<role>`, `user:<userId>`, `user:<userId>:<tokenId>`,
         * `key:<keyId>`, `device:<appId>`, `muster` or `kubernetes:<namespace>/<kind>/<name>`.
         */
        actor: z.string(),
        /** The name of the person, key or app that acted, as it was then (domain/audit/names.ts). */
        actorName: z.string().optional(),
        /** The user acted as an operator of the installation: the account is not charged with the entry (A16). */
        asOperator: z.literal(true).optional(),
        action: z.string(),
        appId: z.string().optional(),
        /** The name of what it was done to (`targetOf`), as the change left it, or found it where it was deleted. */
        targetName: z.string().optional(),
        requestId: z.string(),
        detail: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
      }),
      writeClass: 'by commit',
      backup: 'kept',
      holds: 'an audit entry; goes with its block at the end of the retention',
    },
    (accountId: string, at: number, marker: string) => [accountId, `${placeAt(at)}-${marker}`],
  ),
  /** A block of entries, linked to the block before. It is written once and removed with its entries. */
  seal: record(
    'seal/<accountId>/<number>',
    {
      schema: z.looseObject({
        /** From 1, without gaps. */
        number: z.int().min(1),
        /** The digest of the block before; in the first block, the digest of the account's empty chain. */
        previous: digest,
        /** When the block was sealed. */
        at: instant,
        /**
         * The last part of an entry's key, and the digest of its stored value, in the order of (store revision, key).
         */
        entries: z.array(z.tuple([z.string(), digest])).min(1),
        /** The digest over all of the above (`blockDigest`). */
        digest,
      }),
      writeClass: 'upkeep',
      backup: 'kept',
      holds: 'a sealed block of the audit: the digests of its entries',
    },
    (accountId: string, number: number) => [accountId, String(number).padStart(9, '0')],
  ),
  /** Written by the leader, which goes on from here when another one did before. */
  auditLog: record('audit-log', {
    schema: z.looseObject({
      /** Revisions are of this store alone. */
      storeId: z.string(),
      /** The revision of the last entry that was written, and its key after the prefix of all audits. */
      revision: z.int().min(0),
      key: z.string(),
      /** The newest instant of the entries that were written. */
      at: instant,
      /** In a store that was restored, entries before this instant are not written again. */
      since: instant.optional(),
      /** Those are the entries up to this revision; absent until a leader has begun on the restored store. */
      sinceUpTo: z.int().min(0).optional(),
    }),
    writeClass: 'upkeep',
    backup: 'kept',
    holds: 'up to which entry the audit was written as lines (`MUSTER_AUDIT_LOG`)',
  }),
  /** The end of the chain, and its beginning once older blocks were removed. */
  chain: record('chain/<accountId>', {
    schema: z.looseObject({
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
       * The bytes of the sealed entries that the account's own keys and people have written (audit/own-bytes.ts), for
       * the chain from this base to the block of this number; absent, or of another stretch, until they are counted.
       */
      own: z.looseObject({ bytes: z.int().min(0), number: z.int().min(0), base: z.int().min(0) }).optional(),
    }),
    // Written by what removes other records, at the end of the retention.
    writeClass: 'vital',
    backup: 'kept',
    holds: 'the head of that chain',
  }),
  /** Tells up to which block the index of an audit goes (docs/adr/0085-an-index-of-the-audit.md). */
  auditIndex: record('audit-index/<accountId>', {
    schema: z.looseObject({
      /** The numbers of its oldest page and of its newest one, which may grow. */
      first: z.int().min(1),
      last: z.int().min(1),
      /** The last block that a page describes, and the digest of that block. */
      block: z.int().min(1),
      digest,
    }),
    // Written by what removes pages, at the end of the retention.
    writeClass: 'vital',
    backup: 'left out',
    holds: 'up to which block the index of an audit goes',
  }),
  /** Describes blocks that follow each other: what their entries can be asked for. */
  auditIndexPage: record(
    'audit-index-page/<accountId>/<number>',
    {
      schema: z.looseObject({
        /** The number of its first block. */
        from: z.int().min(1),
        /** The number of entries of each of its blocks, a byte each, in base64. */
        counts: z.string(),
        /** The oldest and the newest instant of its entries. */
        oldest: instant,
        newest: instant,
        /** The newest instant of its entries and of all those before. */
        newestYet: instant,
        /** The terms of its entries, and the places of those that have each, in base64 (audit/index/page.ts). */
        terms: z.string(),
      }),
      writeClass: 'upkeep',
      backup: 'left out',
      holds: 'which entries of some blocks of the audit have an action, an actor or a target',
    },
    (accountId: string, number: number) => [accountId, String(number).padStart(9, '0')],
  ),
};
export type AuditRecord = RecordOf<typeof auditRecords.audit>;
export type SealRecord = RecordOf<typeof auditRecords.seal>;
export type ChainRecord = RecordOf<typeof auditRecords.chain>;
export type AuditIndexRecord = RecordOf<typeof auditRecords.auditIndex>;
export type AuditIndexPageRecord = RecordOf<typeof auditRecords.auditIndexPage>;
export type AuditLogRecord = RecordOf<typeof auditRecords.auditLog>;

/** The name of an entry in a block: the part of its key that follows the account's prefix. */
export const suffixOf = (accountId: string, key: string): string =>
  key.slice(auditRecords.audit.under(accountId).length);
/** The account of an audit entry, and the last part of its key. */
export function partsOfAuditKey(key: string): { readonly accountId: string; readonly suffix: string } {
  const [accountId = '', suffix = ''] = key.slice(auditRecords.audit.under().length).split('/');
  return { accountId, suffix };
}
/** The key of an audit entry, by the last part of it. */
export const auditKey = (accountId: string, suffix: string): string =>
  `${auditRecords.audit.under(accountId)}${suffix}`;

/** The instant that an entry's key begins with; `NaN` where the service did not make the key. */
export const instantOf = (suffix: string): number =>
  /^[0-9a-z]{9}-/.test(suffix) ? Number.parseInt(suffix.slice(0, 9), 36) : Number.NaN;
