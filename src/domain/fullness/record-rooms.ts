import type { Room } from '../../store/port.ts';

/**
 * `by commit`: the commit that writes the record names the class, that of a mutation (domain/mutation/action-rooms.ts) or
 * of `UNAUDITED_ROOMS`.
 */
export type RecordRoom = Room | 'by commit';

/**
 * The class of every record that Muster writes, by its key; `*` stands for one part of it. A commit that names no class
 * has the strictest one of the records that it puts.
 */
export const RECORD_ROOMS: Readonly<Record<string, RecordRoom>> = {
  'd/a/*': 'by commit',
  'd/a/*/key/*': 'by commit',
  'd/a/*/app/*': 'by commit',
  'd/a/*/otel': 'by commit',
  'd/a/*/tally': 'by commit',
  'd/a/*/members': 'by commit',
  'd/u/*': 'by commit',
  'd/o': 'by commit',
  'd/newcomer': 'by commit',
  'd/s/*': 'by commit',
  'login/*': 'by commit',
  'identity/*': 'by commit',
  'passkey/*': 'by commit',
  'link/*/*': 'by commit',
  'refresh/*': 'by commit',
  'key/*': 'by commit',
  'cred/*': 'by commit',
  'past/*/*': 'by commit',
  'refused/*/*': 'by commit',
  'attempted/*': 'growth',
  'audit/*/*': 'by commit',
  'life/*/*': 'by commit',
  'life/*/*/*': 'by commit',
  'idem/*/answer/*': 'by commit',
  'idem/*/slot/*': 'by commit',
  'idem/*/ring': 'by commit',
  'purge/*': 'by commit',

  // A daemon's own state, which it may write as often as it likes.
  'ack/*/*': 'growth',
  'opamp/*/*': 'growth',
  'review/*/*/*': 'growth',
  'reviews/*/*': 'growth',

  // One record an account, app, day or block, or one in all.
  'd/a/*/seen': 'upkeep',
  'd/a/*/stored': 'upkeep',
  'used/*': 'upkeep',
  'session-uses/*': 'upkeep',
  'sign-ins/*': 'upkeep',
  'd/day': 'upkeep',
  'seal/*/*': 'upkeep',
  'ledger/*/*/*': 'upkeep',
  metered: 'upkeep',
  prices: 'upkeep',
  'kubernetes/*': 'upkeep',
  rewrapped: 'upkeep',
  'last-backup': 'upkeep',

  // Without these no replica serves, nothing is compacted, and no request is admitted.
  format: 'vital',
  // Each replica writes it when it starts.
  'd/keys': 'vital',
  leader: 'vital',
  'replica/*': 'vital',
  'pin/*': 'vital',
  'rate/*': 'vital',
  // Of a fixed size. Without it nobody is let in from a browser that is not known.
  'sign-in-names/*': 'vital',
  'rate-ages/*/*': 'vital',
  compaction: 'vital',
  restoring: 'vital',
  // Written by what removes other records: the end of the audit's retention, and of a purge.
  'chain/*': 'vital',
  'purged/*': 'vital',
};

/** The class of every commit that changes records of owners without being a mutation: the audit has no entry of it. */
export const UNAUDITED_ROOMS = {
  // The end of an authentication, once for an enrollment, which is growth. Without it the daemon is refused.
  bindingConfirmed: 'vital',
  // Everybody who reads a code checks its time: it is spent whether or not the record says so. Each app is rewritten, so
  // a fleet whose codes expire together would take the room of revocations.
  codesExpired: 'upkeep',
  textsRewrapped: 'upkeep',
  // One record a session, and one instant a user: whoever is signed in at the provider must be able to stay so.
  refreshTokenKept: 'upkeep',
  rolesConfirmed: 'upkeep',
} as const satisfies Readonly<Record<string, Room>>;

interface Part {
  readonly named: Map<string, Part>;
  any: Part | undefined;
  room: RecordRoom | undefined;
}

const newPart = (): Part => ({ named: new Map(), any: undefined, room: undefined });

const ROOTS = newPart();
for (const [pattern, room] of Object.entries(RECORD_ROOMS)) {
  let part = ROOTS;
  for (const name of pattern.split('/')) {
    const next = (name === '*' ? part.any : part.named.get(name)) ?? newPart();
    if (name === '*') part.any = next;
    else part.named.set(name, next);
    part = next;
  }
  part.room = room;
}

/** The class of the record at a key; undefined where the table has none. */
export function roomOfKey(key: string): RecordRoom | undefined {
  let part: Part | undefined = ROOTS;
  for (const name of key.split('/')) part = part?.named.get(name) ?? part?.any;
  return part?.room;
}
