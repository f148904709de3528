import { LIMITS } from '../limits.ts';
import type { AccountRecord } from '../records/records.ts';

/* The consents of an operator that a custom resource adopts an account or an app. */

/** What an operator has consented to. */
export type Offer = Pick<AccountRecord, 'adoptableBy' | 'consent'>;

/** A consent that is given now. @param namespaceUid undefined where only the name of the namespace is known */
const consentAt = (at: number, namespaceUid?: string): NonNullable<Offer['consent']> => ({
  until: at + LIMITS.consentMs,
  ...(namespaceUid !== undefined && { namespaceUid }),
});

/** What a record has of a consent; nothing where it is withdrawn. */
export const offerOf = (adoptableBy: string | null, namespaceUid: string | undefined, at: number): Offer =>
  adoptableBy === null ? {} : { adoptableBy, consent: consentAt(at, namespaceUid) };

/** Consents to one name that were given within so long are one: a command that is repeated leaves no entry. */
const SAME_MS = 3_600_000;

/** Whether a consent adds nothing to the one before. */
export const isSameOffer = (before: Offer, after: Offer): boolean =>
  before.adoptableBy === after.adoptableBy &&
  before.consent?.namespaceUid === after.consent?.namespaceUid &&
  Math.abs((before.consent?.until ?? 0) - (after.consent?.until ?? 0)) < SAME_MS;
