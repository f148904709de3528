import { derivedKey } from '../keys/derived-key.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import type { FleetMemory } from '../fleet/memory.ts';
import { waitOf } from './failures.ts';
import { createKnownBrowsers, type KnownBrowsers, type KnownBrowsersDeps } from './known-browsers.ts';
import { createNameFailures, type NameFailuresDeps } from './name-failures.ts';
import { numberOf } from './name-records.ts';
import { Networks } from './networks.ts';

/** An attempt with a password that somebody may guess, in a browser by which the user is not known. */
interface Attempt {
  /** The number under which its name is counted. */
  readonly name: number;
  /** The network from which it comes, such as a /56. */
  readonly network: string;
  /** The widest network of that, such as a /48, of which one customer may have all. */
  readonly site: string;
  /** Whether its browser has a ticket of which the time has come. */
  readonly hasTicket: boolean;
}

/** The attempts to sign in, as they are slowed down (docs/CONTRACT.md#p5). */
export interface SignIns {
  readonly browsers: KnownBrowsers;
  /** @param name to sign in with, as it is compared */
  numberOf(name: string): number;
  /**
   * Counts an attempt as a failure before its password is compared.
   * @returns the milliseconds that it must wait, and then it is not counted; 0 where it may be compared
   * @throws StoreUnavailable; Busy
   */
  count(attempt: Attempt): Promise<number>;
  /** Takes back the count of an attempt whose password was right, or was not compared. Never throws. */
  takeBack(attempt: Attempt): void;
}

interface SignInsDeps extends KnownBrowsersDeps, NameFailuresDeps {
  readonly keyRing: KeyRing;
  readonly fleet: { readonly memory: Pick<FleetMemory, 'activeKey'> };
}

/** Creates the counts of attempts; see `SignIns`. */
export function createSignIns(deps: SignInsDeps): SignIns {
  const { clock, keyRing, fleet } = deps;
  const names = createNameFailures(deps);
  const networks = new Networks(clock);
  const placeOf = ({ name, network }: Attempt): string => `${name} ${network}`;
  const siteOf = ({ name, site }: Attempt): string => `${name} ${site}`;
  return {
    browsers: createKnownBrowsers(deps),
    numberOf(name) {
      // The active key is the same on every replica; the newest of a key file may not be.
      const key = keyRing.key(fleet.memory.activeKey()?.record.number ?? keyRing.newest);
      if (!key) throw new Error('The active key is not in the key ring.');
      return numberOf(derivedKey(key, 'sign-in names'), name);
    },
    async count(attempt) {
      const of = placeOf(attempt);
      const waited = attempt.hasTicket ? 'by ticket' : networks.hasWaited(of) ? 'by network' : 'no';
      const [network, site] = [networks.failures(of), networks.failures(siteOf(attempt))];
      const waitMs = await names.count(attempt.name, (name, now) => waitOf({ name, network, site, waited }, now));
      if (waitMs > 0) networks.told(of, clock.now() + waitMs);
      else for (const one of new Set([of, siteOf(attempt)])) networks.compared(one);
      return waitMs;
    },
    takeBack(attempt) {
      names.takeBack(attempt.name);
      for (const one of new Set([placeOf(attempt), siteOf(attempt)])) networks.takeBack(one);
    },
  };
}
