import type { UserEntry } from '../../../domain/fleet/reader.ts';
import type { Guest } from '../../../domain/passwords/places.ts';
import type { PasswordPlace } from '../../../domain/passwords/password-hash.ts';
import { comparableLogin } from '../../../text/logins.ts';
import { networksOf, type ClientNetworks } from '../../http/client-address.ts';
import { HttpRefusal, type NotAuthenticated } from '../../http/errors.ts';
import { browserMarks } from './begin-session.ts';
import type { OpenRequest, PanelServices } from './route.ts';
import { takeTicket, toldToWait, type TicketFor } from './sign-in-ticket.ts';

/*
 * The admission of passwords that are to be compared (docs/CONTRACT.md#p5). An attempt that is admitted here is counted
 * as a failure already, so that many attempts at once are slowed down as well.
 */

/** An attempt whose password may be compared, until it is disposed of. */
interface AdmittedAttempt extends Pick<PasswordPlace, 'matches' | typeof Symbol.dispose> {
  /** Takes back its count: the password was right. */
  takeBack(): void;
}

/** An address tries these; the attempts of one kind leave the others theirs. */
type Kind = 'password' | 'passkey' | 'link';

/** Counts an attempt of an address. @returns the seconds to wait, and then it is not counted */
const addressWait = (
  { client }: Pick<OpenRequest<unknown>, 'client'>,
  { addressRates }: Pick<PanelServices, 'addressRates'>,
  kind: Kind | 'password after waiting',
): number | undefined => addressRates.attempts.refuse(`${kind} ${networksOf(client)[0]}`);

/**
 * The refusal of an attempt that has failed, once it is counted; beyond the bound of the address it is told as well.
 * @throws HttpRefusal `rate_limited`
 */
export function failedAttempt(
  request: Pick<OpenRequest<unknown>, 'client' | 'failed'>,
  services: Pick<PanelServices, 'addressRates'>,
  kind: Kind,
  refusal: NotAuthenticated,
): NotAuthenticated {
  const seconds = addressWait(request, services, kind);
  if (seconds !== undefined) request.failed(refusal.attempt);
  refuseFor(seconds);
  return refusal;
}

/** Counts a request of an address by which no secret can be guessed. @throws HttpRefusal `rate_limited` */
export function chargeAsk(
  { client }: Pick<OpenRequest<unknown>, 'client'>,
  { addressRates }: Pick<PanelServices, 'addressRates'>,
  what: 'challenge' | 'passkey' | 'link read' | 'link' | 'provider',
): void {
  refuseFor(addressRates.asks.refuse(`${what} ${networksOf(client)[0]}`));
}

function refuseFor(seconds: number | undefined): void {
  if (seconds !== undefined) throw new HttpRefusal('rate_limited', ['Retry-After', String(seconds)]);
}

/**
 * Admits an attempt to sign in. In a browser by which the user is known it waits for nobody.
 * @param user undefined where nobody has the login: it costs the same
 * @throws HttpRefusal `rate_limited`, `overloaded`; StoreUnavailable; BadRecord; Busy
 */
export async function admitSignIn(
  request: OpenRequest<unknown>,
  services: PanelServices,
  login: string,
  user: UserEntry | undefined,
): Promise<AdmittedAttempt> {
  const marks = browserMarks(request);
  const isKnown = await services.signIns.browsers.count(user, marks);
  if (isKnown && user) return inKnownBrowser(services, user, marks);
  const networks = networksOf(request.client);
  const ticket = ticketFor(services, `login ${comparableLogin(login)}`, networks);
  const hasTicket = takeTicket(request, services, ticket);
  // Whoever waited as told has a share of the address of their own: one who does not wait leaves it to them.
  const seconds = addressWait(request, services, hasTicket ? 'password after waiting' : 'password');
  if (seconds !== undefined) {
    services.signInMetrics.signInRefused('address');
    throw toldToWait(request, services, ticket, seconds * 1000);
  }
  return await counted(request, services, { guest: { networks }, ticket, hasTicket });
}

/** @throws HttpRefusal `overloaded` */
function inKnownBrowser(services: PanelServices, user: UserEntry, marks: readonly string[]): AdmittedAttempt {
  const takeBack = (): void => void services.signIns.browsers.takeBack(user, marks);
  try {
    return attemptIn(placeFor(services, { known: `browser of ${user.id}` }), () => {
      // A sign-in forgets the failures itself; where a passkey is asked for next, it may never come to that.
      if (user.record.passkeys.length > 0) takeBack();
    });
  } catch (error) {
    takeBack();
    throw error;
  }
}

/**
 * Admits an attempt of a signed-in user at the user's own password. It is counted under a name that no stranger can
 * try.
 * @throws HttpRefusal `rate_limited`, `overloaded`; StoreUnavailable; Busy
 */
export async function admitOwn(
  request: OpenRequest<unknown>,
  services: PanelServices,
  { id }: UserEntry,
): Promise<AdmittedAttempt> {
  const ticket = ticketFor(services, `own ${id}`, networksOf(request.client));
  const hasTicket = takeTicket(request, services, ticket);
  return await counted(request, services, { guest: { known: `session of ${id}` }, ticket, hasTicket });
}

/**
 * The network that waits is the widest but one: a /32, or the /56 of one customer. Who goes first is told by the
 * widest.
 */
const ticketFor = ({ signIns }: PanelServices, name: string, networks: ClientNetworks): TicketFor => ({
  name: signIns.numberOf(name),
  network: networks.at(-2) ?? networks[0],
  site: networks.at(-1) ?? networks[0],
});

/** @throws HttpRefusal `overloaded` */
export function placeFor(
  { passwords, signInMetrics }: Pick<PanelServices, 'passwords' | 'signInMetrics'>,
  guest: Guest,
): PasswordPlace {
  const place = passwords.enter(guest);
  if (place) return place;
  signInMetrics.signInRefused('places');
  throw new HttpRefusal('overloaded');
}

async function counted(
  request: OpenRequest<unknown>,
  services: PanelServices,
  { guest, ticket, hasTicket }: { readonly guest: Guest; readonly ticket: TicketFor; readonly hasTicket: boolean },
): Promise<AdmittedAttempt> {
  const { signIns } = services;
  const attempt = { ...ticket, hasTicket };
  // A room comes first: the attempts that wait for the store are bounded.
  const place = placeFor(services, guest);
  try {
    const waitMs = await signIns.count(attempt);
    if (waitMs > 0) {
      services.signInMetrics.signInRefused('name');
      throw toldToWait(request, services, ticket, waitMs);
    }
  } catch (error) {
    place[Symbol.dispose]();
    throw error;
  }
  return attemptIn(place, () => signIns.takeBack(attempt));
}

const attemptIn = (place: PasswordPlace, takeBack: () => void = () => undefined): AdmittedAttempt => ({
  matches: (password, stored) => place.matches(password, stored),
  takeBack,
  [Symbol.dispose]: () => place[Symbol.dispose](),
});
