import { ForgetfulNumbers } from '../../packed/forgetful-numbers.ts';
import { fingerprintOf, hashOfShared } from '../../packed/hash.ts';
import { HOUR_MS } from '../../time/utc-days.ts';
import { LIMITS } from '../limits.ts';
import { recentTurns, withTurn, type Turn } from './turn-taking.ts';

/** Who polls, as far as a poll shows it. */
export interface Sender {
  /** The id that the daemon makes anew at each start; undefined where it sends none. */
  readonly instance: string | undefined;
  /** The /24 of IPv4 or the /48 of IPv6 that it comes from; undefined where a proxy hides it. */
  readonly network: string | undefined;
}

/** Looks at who polls with each credential. */
export interface SharingWatch {
  /** Notes a poll. @returns whether it shows that machines share the credential; once an hour at most */
  polled(appId: string, sender: Sender, at: number): boolean;
  /** What was found could not be told: it is to be found again. */
  untold(appId: string): void;
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

const partOf = (appId: string, text: string | undefined): number =>
  text === undefined ? 0 : 1 + (hashOfShared(`${appId} ${text}`) % (PART - 1));

function packedSender(appId: string, { instance, network }: Sender): number {
  const isIPv6 = network?.includes(':') === true;
  return ((isIPv6 ? 1 : 0) * PART + partOf(appId, instance)) * PART + partOf(appId, network);
}

/**
 * What a sender is compared by, each with those of its kind alone: a machine that has an address of both families changes
 * between them as it likes.
 */
const KINDS = ['instance', 'ipv4', 'ipv6'] as const;

function takersOf(sender: number): Readonly<Record<(typeof KINDS)[number], number>> {
  const [network, rest] = [sender % PART, Math.floor(sender / PART)];
  const [instance, isIPv6] = [rest % PART, rest >= PART];
  return { instance, ipv4: isIPv6 ? 0 : network, ipv6: isIPv6 ? network : 0 };
}

/** What is known of a credential whose senders are not all the same one. */
interface Suspect {
  readonly instance: readonly Turn[];
  readonly ipv4: readonly Turn[];
  readonly ipv6: readonly Turn[];
  /** Until when nothing is told. */
  readonly quietUntil: number;
}

const UNSUSPECTED: Suspect = { instance: [], ipv4: [], ipv6: [], quietUntil: 0 };

/**
 * Each credential that polls takes one number, of 20 to 30 bytes. Only those whose sender has changed within 10 minutes
 * take more, and of these the latest are kept.
 * @param appCount how many apps there are
 */
export function createSharingWatch(
  appCount: () => number,
  suspectsMax: number = LIMITS.sharingSuspectsMax,
): SharingWatch {
  /** By app, its last sender and when that was. */
  const last = new ForgetfulNumbers(appCount);
  /** By app; the one that has polled last is last. */
  const suspects = new Map<number, Suspect>();

  function keep(app: number, suspect: Suspect): void {
    suspects.delete(app);
    suspects.set(app, suspect);
    const [oldest] = suspects.keys();
    if (suspects.size > suspectsMax && oldest !== undefined) suspects.delete(oldest);
  }

  return {
    polled(appId, from, at) {
      const app = fingerprintOf(appId);
      const sender = packedSender(appId, from);
      const before = last.get(app);
      last.set(app, (Math.floor(at / 1000) % SECONDS) * SENDERS + sender);
      const known = suspects.get(app);
      if (known ? at < known.quietUntil : before === undefined || before % SENDERS === sender) return false;
      const former = known ?? taken(UNSUSPECTED, (before ?? 0) % SENDERS, instantOf(before ?? 0, at)).suspect;
      const { suspect, isShared } = taken(former, sender, at);
      if (isOneSender(suspect, sender)) suspects.delete(app);
      else keep(app, isShared ? { ...UNSUSPECTED, quietUntil: at + HOUR_MS } : suspect);
      return isShared;
    },
    untold: (appId) => void suspects.delete(fingerprintOf(appId)),
  };
}

/** The beginning of the second of the last poll. */
function instantOf(number: number, now: number): number {
  const second = Math.floor(now / 1000);
  return (second - ((second - Math.floor(number / SENDERS) + SECONDS) % SECONDS)) * 1000;
}

function taken(former: Suspect, sender: number, at: number): { readonly suspect: Suspect; readonly isShared: boolean } {
  const takers = takersOf(sender);
  const next: { -readonly [Field in keyof Suspect]: Suspect[Field] } = { ...former };
  let isShared = false;
  for (const kind of KINDS) {
    const noted =
      takers[kind] === 0
        ? { turns: recentTurns(former[kind], at), isShared: false }
        : withTurn(former[kind], { taker: takers[kind], at });
    next[kind] = noted.turns;
    isShared ||= noted.isShared;
  }
  return { suspect: next, isShared };
}

/** Whether the last sender alone tells as much. */
function isOneSender(suspect: Suspect, sender: number): boolean {
  const takers = takersOf(sender);
  return KINDS.every((kind) => suspect[kind].every(({ taker }) => taker === takers[kind]));
}
