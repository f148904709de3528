import type { AccountReader, FleetReader, UserEntry } from '../fleet/reader.ts';
import type { MembersRecord } from '../records/user-records.ts';
import { Refusal } from '../refusal.ts';
import { operatorsAfter, whoCanSignIn, type SignInWays } from './user-state.ts';

/*
 * A17: an installation that has operators, and an account that has owners, keep one who can sign in. Whatever takes a
 * user away from among them asks here: a role that ends, a user who is disabled or deleted, a reset that leaves no way
 * to sign in.
 */

/** The places that a change takes a user from, or in which the user cannot sign in any more. */
interface Loss {
  /** The place of an operator, where the user has one. */
  readonly operator: boolean;
  /** The accounts of which the user is an owner by invitation: one of them, or all. */
  readonly owned?: AccountReader | 'all' | undefined;
}

/** The ways in which users sign in; undefined where the panel is not served here. */
export interface Ways {
  readonly ways: SignInWays | undefined;
}

/** Others whom one commit expects: it has 128 operations at most. */
const OTHERS_MAX = 40;

/**
 * Finds for each place another one who can sign in. The commit is good only while these can, so it expects their
 * records: whatever takes one of them away writes that record (docs/adr/0051-what-is-judged-is-expected.md).
 * @throws Refusal `conflict` where a place would have nobody; StoreUnavailable
 */
export async function othersWhoStay(
  { ways }: Ways,
  reader: FleetReader,
  userId: string,
  { operator, owned }: Loss,
): Promise<readonly UserEntry[]> {
  const others = new Map<string, UserEntry>();
  const operators = operator ? (await reader.operators()).record : { members: [] };
  if (operators.members.includes(userId)) {
    const other = await whoCanSignIn(reader, operatorsAfter(operators, userId, false), ways);
    if (!other) throw new Refusal('conflict', NO_OTHER_OPERATOR);
    others.set(other.id, other);
  }
  const accounts = owned === 'all' ? await reader.accountsOfMember(userId) : owned ? [owned] : [];
  for (const account of accounts) {
    const left = ownersBeside((await account.members()).record, userId);
    if (!left) continue;
    // Somebody who stays elsewhere, too, comes first: there are fewer records to expect.
    const known = left.filter((id) => others.has(id));
    const other = await whoCanSignIn(reader, [...known, ...left], ways);
    if (!other) throw new Refusal('conflict', noOtherOwner(account.id));
    others.set(other.id, other);
    if (others.size > OTHERS_MAX) throw new Refusal('conflict', 'The user owns many accounts: end memberships first.');
  }
  return [...others.values()];
}

/** The other owners by invitation; undefined where the user is none. */
function ownersBeside({ members }: MembersRecord, userId: string): readonly string[] | undefined {
  const owners = members.filter(({ role }) => role === 'owner').map((member) => member.userId);
  return owners.includes(userId) ? owners.filter((id) => id !== userId) : undefined;
}

const NO_OTHER_OPERATOR = 'No other operator can sign in: make somebody else an operator first, and let them sign in.';
const noOtherOwner = (accountId: string): string =>
  `No other owner of the account ${accountId} can sign in: make somebody else an owner first.`;
