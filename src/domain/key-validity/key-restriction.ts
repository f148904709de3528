import { addressOf, isIn, rangesOf, type AddressRange } from '../../text/ip-addresses.ts';
import { Refusal } from '../refusal.ts';
import type { ApiKeyRecord } from '../records/account-records.ts';
import type { KeyAccess } from '../records/key-access.ts';

/* H23: the access of an API key, and the addresses from which it may be used. */

/** The use that an operation makes of a key; for `full` no key of less access will do. */
export type KeyUse = KeyAccess;

/** The access of a key, and the addresses that it may be used from; all of them without ranges. */
export interface KeyScope {
  readonly access: KeyAccess;
  /** Ranges of addresses in CIDR notation. */
  readonly allowedCidrs: readonly string[];
}

/** A use of a key, with the address of the client. */
export interface KeyAsked {
  readonly use: KeyUse;
  readonly client: string;
}

type Restriction = NonNullable<ApiKeyRecord['restriction']>;

/** The restriction that makes the scope; undefined for a key that may do everything from everywhere. */
export const restrictionOf = ({ access, allowedCidrs }: KeyScope): Restriction | undefined =>
  access === 'full' && allowedCidrs.length === 0 ? undefined : { access, allowedCidrs: [...allowedCidrs] };

export const scopeOf = ({ restriction }: ApiKeyRecord): KeyScope => ({
  access: restriction?.access ?? 'full',
  allowedCidrs: restriction?.allowedCidrs ?? [],
});

const parsedRanges = new WeakMap<Restriction, readonly AddressRange[]>();

function rangesOfKey(restriction: Restriction): readonly AddressRange[] {
  const known = parsedRanges.get(restriction) ?? rangesOf(...restriction.allowedCidrs);
  parsedRanges.set(restriction, known);
  return known;
}

/** Tells whether the key may be used from the address. A text that is no address is in no range. */
export function isUsableFrom({ restriction }: ApiKeyRecord, client: string): boolean {
  if (!restriction || restriction.allowedCidrs.length === 0) return true;
  const address = addressOf(client);
  return address !== undefined && isIn(address, rangesOfKey(restriction));
}

/**
 * @param onOtherAddress called before the refusal of an address: somebody else may have the key
 * @throws Refusal `forbidden` where the key is not for the use, or not for the address of the client
 */
export function refuseBeyond(record: ApiKeyRecord, { use, client }: KeyAsked, onOtherAddress?: () => void): void {
  if (!isUsableFrom(record, client)) {
    onOtherAddress?.();
    throw new Refusal('forbidden', 'This API key may not be used from this address.');
  }
  const { access } = scopeOf(record);
  if (access !== 'full' && !isFor(access, use)) throw new Refusal('forbidden', SAYS[access]);
}

/** Tells whether a key of that access is for the use. */
export const isFor = (access: KeyAccess, use: KeyUse): boolean => access === 'full' || access === use;

const SAYS = {
  read: 'This API key may only read.',
  enroll: 'This API key may only create apps, and issue codes for apps that it created and that are pending.',
} as const;

/** Tells whether a key of the first scope may do nothing that one of the second may not. */
export function isWithin(inner: KeyScope, outer: KeyScope): boolean {
  return (
    (outer.access === 'full' || outer.access === inner.access) && areWithin(inner.allowedCidrs, outer.allowedCidrs)
  );
}

/**
 * A12: tells whether a key loses what it can lose only once, some access or the use from everywhere: a store that is
 * full takes that. Ranges could be narrowed again and again.
 */
export const isLoss = (before: KeyScope, after: KeyScope): boolean =>
  isWithin(after, before) &&
  (after.access !== before.access || (before.allowedCidrs.length === 0 && after.allowedCidrs.length > 0));

/** No ranges are all addresses. */
function areWithin(inner: readonly string[], outer: readonly string[]): boolean {
  if (outer.length === 0) return true;
  const ranges = rangesOf(...outer);
  const isInOne = ([first, bits]: AddressRange): boolean =>
    ranges.some((range) => range[1] <= bits && isIn(first, [range]));
  return inner.length > 0 && rangesOf(...inner).every(isInOne);
}

/** The scope of a key of the whole account, from everywhere. */
export const WHOLE: KeyScope = { access: 'full', allowedCidrs: [] };

/**
 * The detail of an audit entry that tells of a scope: what is restricted by it, or was before it. For a key that may do
 * everything from everywhere there is nothing to tell.
 */
export const scopeDetail = (
  { access, allowedCidrs }: KeyScope,
  before: KeyScope = WHOLE,
): Readonly<Record<string, string>> => ({
  ...((access !== 'full' || before.access !== 'full') && { access }),
  ...((allowedCidrs.length > 0 || before.allowedCidrs.length > 0) && { allowedCidrs: allowedCidrs.join(' ') }),
});
