import * as z from 'zod';
import { LIMITS } from '../limits.ts';
import { record, type RecordOf } from './registry.ts';
import { instant, sealedSchema } from './shapes.ts';

/* The people who use the panel: users, their memberships and sessions. Instants are milliseconds since 1970. */

/** The roles that a user may have on an account. An owner may do all that a viewer may. */
export const MEMBER_ROLES = ['owner', 'viewer'] as const;
export type MemberRole = (typeof MEMBER_ROLES)[number];

/** The roles on the whole installation that may do less than an operator; the greater one first. */
export const RESTRICTED_ROLES = ['support', 'auditor'] as const;
export type RestrictedRole = (typeof RESTRICTED_ROLES)[number];

/** The roles on the whole installation, of which a person has one at most. */
export const INSTALLATION_ROLES = ['operator', ...RESTRICTED_ROLES] as const;
export type InstallationRole = (typeof INSTALLATION_ROLES)[number];

/** The name of a user at an OpenID Connect provider; unique as a pair (OpenID Connect Core 1.0, 5.7). */
const identitySchema = z.looseObject({ issuer: z.string(), subject: z.string() });
/** One that a user has linked: with the name that the provider gave it, and when that was. */
const linkedIdentitySchema = identitySchema.extend({ name: z.string().optional(), linkedAt: instant.optional() });
export type Identity = Readonly<z.infer<typeof identitySchema>>;

/** A credential of WebAuthn. */
const passkeySchema = z.looseObject({
  /** The id of the credential, base64url. */
  id: z.string(),
  /** COSE key, base64url. */
  publicKey: z.string(),
  name: z.string(),
  createdAt: instant,
  transports: z.array(z.string()).optional(),
});
export type PasskeyRecord = z.infer<typeof passkeySchema>;

export const ADDITION_KINDS = ['passkey', 'identity', 'browser'] as const;
/** A further way in that a user got, or a sign-in from a browser that was not known. */
const additionSchema = z.looseObject({
  kind: z.enum(ADDITION_KINDS),
  at: instant,
  /** The name of the passkey, of the identity as the provider tells it, or of the browser. */
  name: z.string(),
  /** The address of the client. */
  client: z.string(),
});
export type Addition = z.infer<typeof additionSchema>;

/** The ways in which a session may begin. */
export const SIGN_IN_METHODS = ['password', 'passkey', 'provider', 'link'] as const;

const PROOF_WAYS = ['password', 'passkey', 'provider'] as const;
/** How a user proved who they are. */
export type ProofWay = (typeof PROOF_WAYS)[number];

/** A browser that a user has signed in from, by a hash of its mark, the user and the password. */
const knownBrowserSchema = z.looseObject({
  hash: z.string(),
  until: instant,
  /** Attempts since the last success, the one under way included. */
  failures: z.int().min(0),
});
export type KnownBrowser = z.infer<typeof knownBrowserSchema>;

/** The records `sign-in-names/…`, and the names of each. */
export const SIGN_IN_NAMES_RECORDS = 64;
export const SIGN_IN_NAMES_PER_RECORD = LIMITS.signInNamesCounted / SIGN_IN_NAMES_RECORDS;
/** A name takes 8 bytes (domain/sign-ins/name-records.ts). */
const SIGN_IN_NAMES_TEXT = new RegExp(`^[A-Za-z0-9+/]{${Math.ceil((SIGN_IN_NAMES_PER_RECORD * 64) / 6)}}={0,2}$`);

export const LINK_KINDS = ['first', 'invitation', 'reset'] as const;

/** The record of a hash that leads to a user. */
const leadsToUser = z.looseObject({ userId: z.string() });

export const userRecords = {
  /** A user. */
  user: record('d/u/<userId>', {
    schema: z.looseObject({
      name: z.string(),
      /** The name to sign in with, as it was given; `''` for a user who has only the provider's. */
      login: z.string(),
      createdAt: instant,
      disabled: z.boolean(),
      identities: z.array(linkedIdentitySchema),
      /** The hash of the password (domain/passwords), and when it was set. */
      password: z.looseObject({ hash: z.string(), at: instant }).optional(),
      passkeys: z.array(passkeySchema),
      /** The latest last, at most `LIMITS.additionsKeptMax` of each kind. */
      additions: z.array(additionSchema).optional(),
      /**
       * The role on the installation that somebody gave, where it is less than that of an operator; an operator has
       * none here. An earlier version gives no right by it.
       */
      installationRole: z.enum(RESTRICTED_ROLES).optional(),
      /** When the user's roles last changed; a session that began before gets another token. */
      rolesAt: instant.optional(),
      /** The account by whose invitation the user came; absent where somebody else made the user. */
      invitedBy: z.string().optional(),
      /**
       * The instant at which the user was made, signed in last, or got a link last, where the user never had a role;
       * absent once there was one. A week later the user is removed (domain/users/unused-users.ts).
       */
      roleless: instant.optional(),
      /**
       * The roles that the provider's groups gave at `at`, apart from those of people. `asked` is the store's revision
       * before that, absent in records of earlier versions; `unruled` tells that no rule of the settings gives any.
       */
      mapped: z
        .looseObject({
          operator: z.boolean(),
          accounts: z.array(z.looseObject({ accountId: z.string(), role: z.enum(MEMBER_ROLES) })),
          installationRole: z.enum(RESTRICTED_ROLES).optional(),
          at: instant,
          asked: z.int().min(0).optional(),
          unruled: z.boolean().optional(),
        })
        .optional(),
      /** The provider refused the user then, and has let them in by no answer since: its groups give no role. */
      providerRefusedAt: instant.optional(),
    }),
    writeClass: 'by commit',
    backup: 'kept',
    ownedBy: 'user',
    holds: 'a user of the panel: name, hash of the password, passkeys, roles of the provider',
  }),
  /**
   * The user who was created last. Whoever creates one counts the users and expects this record, so that their
   * bound is exact.
   */
  newcomer: record('d/newcomer', {
    schema: z.looseObject({ userId: z.string() }),
    writeClass: 'by commit',
    backup: 'kept',
    holds: 'the user who was created last, which every creation of one writes',
  }),
  /** The users whom somebody made operators. One record, so that the last one cannot be removed by a race. */
  operators: record('d/o', {
    schema: z.looseObject({ members: z.array(z.string()) }),
    writeClass: 'by commit',
    backup: 'kept',
    holds: 'the users who are operators',
  }),
  /** The members of an account by invitation. One record, so that it keeps an owner through every race. */
  members: record('d/a/<accountId>/members', {
    schema: z.looseObject({
      members: z.array(z.looseObject({ userId: z.string(), role: z.enum(MEMBER_ROLES), since: instant })),
    }),
    writeClass: 'by commit',
    backup: 'kept',
    holds: 'the members of the account by invitation, with their roles',
  }),
  /**
   * A session, by the hash of its token. It is written once and removed when it ends: a proof, and a change of its
   * user's roles, begin another session in its place.
   */
  session: record('d/s/<sessionId>', {
    schema: z.looseObject({
      userId: z.string(),
      createdAt: instant,
      /** When the user signed in; a session that takes the place of another one keeps it. */
      signedInAt: instant.optional(),
      /** When the user last proved who they are, and how; absent where a link or the provider alone let them in. */
      proof: z.looseObject({ at: instant, by: z.enum(PROOF_WAYS) }).optional(),
      /** The proof of more than one factor: a passkey, which asks for a finger or a PIN, or the provider's `amr`. */
      secondFactor: z.enum(['passkey', 'provider']).optional(),
      expiresAt: instant,
      method: z.enum(SIGN_IN_METHODS),
      /** The browser in a few words, for the list of one's own sessions. */
      browser: z.string(),
      /** The identity of a session that began at the provider; `sid` is the provider's own session. */
      identity: identitySchema.extend({ sid: z.string().optional() }).optional(),
    }),
    writeClass: 'by commit',
    // A restore must bring no session and no link back to life.
    backup: 'left out',
    holds: 'a session of the panel, by the SHA-256 of its token',
  }),
  /**
   * An access token of a person for one account, by its public id. It is written once, and removed when it ends: by its
   * person, by its time, and with the role on the account (A17).
   */
  accessToken: record('d/t/<tokenId>', {
    schema: z.looseObject({
      userId: z.string(),
      accountId: z.string(),
      /** The most that it may do; its person's own role at the moment may be less. */
      role: z.enum(MEMBER_ROLES),
      name: z.string(),
      /** SHA-256 of the whole token, base64url. */
      hash: z.string(),
      createdAt: instant,
      expiresAt: instant,
    }),
    writeClass: 'by commit',
    // A restore brings no credential back to life.
    backup: 'left out',
    holds: 'an access token of a person for one account: role, expiry, its SHA-256',
  }),
  login: record('login/<loginHash>', {
    schema: leadsToUser,
    writeClass: 'by commit',
    backup: 'kept',
    removedBy: 'domain/users, from the record of the user',
    holds: 'the user of a name to sign in with',
  }),
  identity: record('identity/<identityHash>', {
    schema: leadsToUser,
    writeClass: 'by commit',
    backup: 'kept',
    removedBy: 'domain/users, from the record of the user',
    holds: 'the user of an identity at the provider',
  }),
  passkey: record('passkey/<passkeyHash>', {
    schema: leadsToUser,
    writeClass: 'by commit',
    backup: 'kept',
    removedBy: 'domain/users, from the record of the user',
    holds: 'the user of a passkey',
  }),
  /** When the sessions and access tokens of a user were last used: pairs of an id and an instant. */
  sessionUses: record('session-uses/<userId>', {
    schema: z.looseObject({ sessions: z.array(z.tuple([z.string(), instant])) }),
    writeClass: 'upkeep',
    backup: 'left out',
    ownedBy: 'user',
    holds: 'when the sessions and access tokens of a user were last used; quiet',
  }),
  /** The facts that judge the next sign-in of a user. */
  signIns: record('sign-ins/<userId>', {
    schema: z.looseObject({
      /** The signature counters of passkeys, by the id of the credential. */
      counters: z.record(z.string(), z.int().min(0)),
      /** The browser of the last sign-in is last. */
      known: z.array(knownBrowserSchema).optional(),
      /**
       * Challenges that a passkey has answered, by a hash: each is good once, at most `LIMITS.passkeyAnswersKeptMax`.
       */
      answered: z.array(z.looseObject({ hash: z.string(), until: instant })).optional(),
    }),
    writeClass: 'upkeep',
    backup: 'left out',
    ownedBy: 'user',
    holds: 'known browsers of a user, what passkeys have answered; quiet',
  }),
  /** Failed sign-ins by the keyed hash of a name, packed. */
  signInNames: record('sign-in-names/<number>', {
    schema: z.looseObject({ failures: z.string().regex(SIGN_IN_NAMES_TEXT) }),
    // The size is fixed. Without it nobody is let in from a browser that is not known.
    writeClass: 'vital',
    backup: 'left out',
    holds: 'failed sign-ins by the keyed hashes of 64 names, packed; quiet',
  }),
  /** A link that signs somebody in or makes them a member, by the hash of its token. It is removed when used. */
  link: record('link/<scope>/<tokenHash>', {
    schema: z.looseObject({
      kind: z.enum(LINK_KINDS),
      /** Its public id, by which it is listed and withdrawn. */
      linkId: z.string(),
      createdAt: instant,
      expiresAt: instant,
      /** The actor that made it, as the audit names actors. */
      by: z.string(),
      /** The user whom a reset or a first sign-in is for. */
      userId: z.string().optional(),
      /** The account and the role that an invitation gives. */
      accountId: z.string().optional(),
      role: z.enum(MEMBER_ROLES).optional(),
      /** A note by the owner who made an invitation, for those who see the list. */
      note: z.string().optional(),
    }),
    writeClass: 'by commit',
    backup: 'left out',
    holds: 'a link of a single use: first sign-in, invitation, reset',
  }),
  /** The provider's refresh token of a session, and who renews the roles by it. */
  refresh: record('refresh/<sessionId>', {
    schema: z.looseObject({
      token: sealedSchema,
      /** A replica that renews the roles claims the record until then, since a refresh token may be good once. */
      claimedUntil: instant.optional(),
    }),
    writeClass: 'by commit',
    backup: 'left out',
    holds: "the provider's refresh token of a session, encrypted",
  }),
};
export type UserRecord = RecordOf<typeof userRecords.user>;
export type NewcomerRecord = RecordOf<typeof userRecords.newcomer>;
export type OperatorsRecord = RecordOf<typeof userRecords.operators>;
export type MembersRecord = RecordOf<typeof userRecords.members>;
export type SessionRecord = RecordOf<typeof userRecords.session>;
export type AccessTokenRecord = RecordOf<typeof userRecords.accessToken>;
export type SignInsRecord = RecordOf<typeof userRecords.signIns>;
export type LinkRecord = RecordOf<typeof userRecords.link>;
export type RefreshRecord = RecordOf<typeof userRecords.refresh>;

export const NO_OPERATORS: OperatorsRecord = { members: [] };
export const NO_MEMBERS: MembersRecord = { members: [] };
