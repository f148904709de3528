import type { WriteClass } from '../../store/port.ts';

/** The class of every commit that changes records of owners without being a mutation: the audit has no entry of it. */
export const UNAUDITED_CLASSES = {
  // The end of an authentication, once for an enrollment, which is growth. Without it the daemon is refused.
  bindingConfirmed: 'vital',
  // Everybody who reads a code checks its time: it is spent whether or not the record says so. Each app is rewritten,
  // so a fleet whose codes expire together would take the room of revocations.
  codesExpired: 'upkeep',
  textsRewrapped: 'upkeep',
  // One record a session, and one instant a user: whoever is signed in at the provider must be able to stay so.
  refreshTokenKept: 'upkeep',
  rolesConfirmed: 'upkeep',
} as const satisfies Readonly<Record<string, WriteClass>>;
