import { ForgetfulNumbers } from '../../packed/forgetful-numbers.ts';
import { fingerprintOf, hashOfShared } from '../../packed/hash.ts';
import { HOUR_MS } from '../../time/utc-days.ts';
import { LIMITS } from '../limits.ts';
import { RecentlyUsed } from './recently-used.ts';
import { recentTurns, showsId, withId, withTurn, type Turn } from './turn-taking.ts';

/** A poll shows this much of the machine that sends it. */
export interface Sender {
  /** The id that the daemon makes anew at each start; undefined where it sends none. */
  readonly instance: string | undefined;
  /** The /24 of IPv4 or the /48 of IPv6 that it comes from; undefined where a proxy hides it. */
  readonly network: string | undefined;
}

/** The last contact of an app in the store, perhaps with another replica. */
export interface StoredContact {
  readonly at: number;
  /** Packed, where that replica has told it. */
  readonly sender: number | undefined;
}

/** A poll has these consequences. */
interface Polled {
  /** Machines share the credential; once an hour at most. */
  readonly isShared: boolean;
  /** The sender that other replicas are to know, packed; undefined where they need not. */
  readonly toOthers: number | undefined;
}

/** Looks at who polls with each credential. */
interface SharingWatch {
  polled(appId: string, sender: Sender, at: number, stored?: StoredContact): Polled;
  /** Lets a finding that could not be told be found again after a minute. */
  untold(appId: string, at: number): void;
}

/**
 * A sender in 33 bits: whether its network is of IPv6, and 16 bits each of the instance and of the network, where 0 is
 * none. Two instances have the same with a probability of 1 in 65,535: then they are one to this app.
 */
const PART = 2 ** 16;
const FAMILIES = 2;
const SENDERS = PART * PART * FAMILIES;
/** Beside it a number has the second of the last poll, of 12 days. */
const SECONDS = 2 ** 20;

const partOf = (app: number, text: string | undefined): number =>
  text === undefined ? 0 : 1 + (hashOfShared(text, app) % (PART - 1));

function packedSender(appId: string, { instance, network }: Sender): number {
  const app = hashOfShared(appId);
  const isIPv6 = network?.includes(':') === true;
  return ((isIPv6 ? 1 : 0) * PART + partOf(app, instance)) * PART + partOf(app, network);
}

/**
 * A sender is compared by each of these with those of the same kind alone: a machine that has an address of both
 * families changes between them as it likes.
 */
const KINDS = ['instance', 'ipv4', 'ipv6'] as const;
type ByKind<Value> = Readonly<Record<(typeof KINDS)[number], Value>>;

const instanceOf = (sender: number): number => Math.floor(sender / PART) % PART;

/** The ids alone decide where both show one: a provider gives one machine addresses of several networks. */
const isSameSender = (one: number, other: number): boolean =>
  one === other || (instanceOf(one) !== 0 && instanceOf(one) === instanceOf(other));

/** A sender is this taker of each kind; 0 stands for none. */
function takersOf(sender: number): ByKind<number> {
  const [place, instance, isIPv6] = [sender % PART, instanceOf(sender), sender >= PART * PART];
  const network = place !== 0 && instance !== 0 ? withId(place) : place;
  return { instance, ipv4: isIPv6 ? 0 : network, ipv6: isIPv6 ? network : 0 };
}

/** A credential whose senders are not all the same one: its turns by kind. */
interface Suspect extends ByKind<readonly Turn[]> {
  /** Until then nothing more is told. */
  readonly quietUntil: number;
}

/** A store that is full or away is not asked with each turn. */
const UNTOLD_MS = 60_000;
const UNSUSPECTED: Suspect = { instance: [], ipv4: [], ipv6: [], quietUntil: 0 };
const NOTHING: Polled = { isShared: false, toOthers: undefined };

/**
 * Each credential that polls takes one number, of 20 to 30 bytes. Only those whose sender has changed within 10 minutes
 * take more, and of these so many at most.
 *
 * Replicas tell each other who was the last to be heard of an app, with the last contacts that they write anyway: so
 * machines that stay with one replica each are found, too. A daemon that stays with one replica costs nothing by that.
 * @param appCount how many apps there are
 */
export function createSharingWatch(
  appCount: () => number,
  suspectsMax: number = LIMITS.sharingSuspectsMax,
): SharingWatch {
  /** The last sender here and its instant, by app. */
  const last = new ForgetfulNumbers(appCount);
  /** The suspects by app. One that no longer polls makes room after as long as turns count, or twice that. */
  const suspects = new RecentlyUsed<Suspect>(suspectsMax, LIMITS.sharingWindowMs);

  return {
    polled(appId, from, at, stored) {
      const app = fingerprintOf(appId);
      const sender = packedSender(appId, from);
      const before = last.get(app);
      last.set(app, (Math.floor(at / 1000) % SECONDS) * SENDERS + sender);
      const known = suspects.get(app, at);
      if (known ? at < known.quietUntil : before === undefined) return NOTHING;
      const former = before === undefined ? undefined : { sender: before % SENDERS, at: instantOf(before, at) };
      const elsewhere = former && stored && stored.at >= former.at + 1000 ? stored : undefined;
      const isSame = [former, elsewhere].every((other) => isSameSender(other?.sender ?? sender, sender));
      if (!known && isSame) return elsewhere ? { isShared: false, toOthers: sender } : NOTHING;
      let next = { suspect: known ?? UNSUSPECTED, isShared: false };
      if (!known && former) next = taken(next.suspect, former.sender, former.at);
      if (elsewhere?.sender !== undefined) next = taken(next.suspect, elsewhere.sender, Math.min(elsewhere.at, at));
      next = taken(next.suspect, sender, at, next.isShared);
      if (next.isShared) suspects.set(app, { ...UNSUSPECTED, quietUntil: at + HOUR_MS }, at);
      else if (isOneSender(next.suspect, sender)) suspects.delete(app);
      else suspects.set(app, next.suspect, at);
      return { isShared: next.isShared, toOthers: elsewhere && sender };
    },
    untold(appId, at) {
      suspects.set(fingerprintOf(appId), { ...UNSUSPECTED, quietUntil: at + UNTOLD_MS }, at);
    },
  };
}

/** The beginning of the second of the last poll. */
function instantOf(number: number, now: number): number {
  const second = Math.floor(now / 1000);
  return (second - ((second - Math.floor(number / SENDERS) + SECONDS) % SECONDS)) * 1000;
}

function taken(
  former: Suspect,
  sender: number,
  at: number,
  wasShared = false,
): { readonly suspect: Suspect; readonly isShared: boolean } {
  const takers = takersOf(sender);
  const next: { -readonly [Field in keyof Suspect]: Suspect[Field] } = { ...former };
  let isShared = wasShared;
  for (const kind of KINDS) {
    const taker = takers[kind];
    const noted =
      taker === 0 ? { turns: recentTurns(former[kind], at), isShared: false } : withTurn(former[kind], { taker, at });
    next[kind] = noted.turns;
    isShared ||= noted.isShared;
  }
  return { suspect: next, isShared };
}

/** Whether the last sender alone tells as much. */
function isOneSender(suspect: Suspect, sender: number): boolean {
  const takers = takersOf(sender);
  const isOne = suspect.instance.every(({ taker }) => taker === takers.instance);
  const isNetworkOf = (network: number) => (turn: Turn) =>
    turn.taker === network || (takers.instance !== 0 && showsId(turn.taker));
  return isOne && suspect.ipv4.every(isNetworkOf(takers.ipv4)) && suspect.ipv6.every(isNetworkOf(takers.ipv6));
}
