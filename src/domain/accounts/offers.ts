import { LIMITS } from '../limits.ts';
import type { AccountRecord } from '../records/account-records.ts';
import { Refusal } from '../refusal.ts';

/* The consents of an operator that a custom resource adopts an account or an app. */

/** An adoption that an operator has consented to. */
export type Offer = Pick<AccountRecord, 'adoptableBy' | 'consent'>;

/** A consent that is given now. @param namespaceUid undefined where only the name of the namespace is known */
const consentAt = (at: number, namespaceUid?: string): NonNullable<Offer['consent']> => ({
  until: at + LIMITS.consentMs,
  ...(namespaceUid !== undefined && { namespaceUid }),
});

/** A consent as a request gives it. */
export interface Consent {
  /** `namespace/name`; null withdraws it. */
  readonly adoptableBy: string | null;
  /** The UID of that namespace; without it the cluster is asked, where the operator of Kubernetes runs. */
  readonly namespaceUid?: string | undefined;
}

/** The fields of a consent in a record; nothing where it is withdrawn. */
export const offerOf = ({ adoptableBy, namespaceUid }: Consent, at: number): Offer =>
  adoptableBy === null ? {} : { adoptableBy, consent: consentAt(at, namespaceUid) };

/** How the audit tells of a consent; `''` for one that is withdrawn. */
export const consentDetail = ({
  adoptableBy = '',
  consent,
}: Offer): { adoptableBy: string; namespaceUid?: string } => ({
  adoptableBy,
  ...(consent?.namespaceUid !== undefined && { namespaceUid: consent.namespaceUid }),
});

/**
 * A18 judges a change by `adoptableBy`: a UID without it would change whom a consent means. @throws Refusal `conflict`
 */
export function refuseUidAlone({
  adoptableBy,
  namespaceUid,
}: { readonly [Field in keyof Consent]?: Consent[Field] | undefined }): void {
  if (namespaceUid === undefined || typeof adoptableBy === 'string') return;
  throw new Refusal(
    'conflict',
    'namespaceUid: it narrows no consent; give adoptableBy with it, which names the namespace.',
  );
}

/** Whether a record's consent stays as it is. One that is given anew has another end, so it is another one. */
export const isSameOffer = (before: Offer, after: Offer): boolean =>
  before.adoptableBy === after.adoptableBy &&
  before.consent?.namespaceUid === after.consent?.namespaceUid &&
  before.consent?.until === after.consent?.until;
