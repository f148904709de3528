import * as z from 'zod';
import { LIMITS } from '../../../domain/limits.ts';
import { generateMarker } from '../../../domain/credentials/random-ids.ts';
import { isDue } from '../../../domain/sign-ins/networks.ts';
import { HttpRefusal } from '../../http/errors.ts';
import { setCookie } from './cookies.ts';
import type { OpenRequest, PanelServices } from './route.ts';

/*
 * An attempt that is told to wait gets a ticket, sealed in its browser: every replica then knows that it has waited,
 * and nobody writes anything. A ticket is for one name and one network, and good once on each replica.
 */

const PURPOSE = 'sign-in ticket';
const ticketSchema = z.object({ id: z.string(), name: z.int(), network: z.string(), dueAt: z.int() });

/** The name and the network of an attempt, by which it waits. */
export interface TicketFor {
  readonly name: number;
  readonly network: string;
  /** The widest network of the address, such as a /48. */
  readonly site: string;
}

/** The refusal of an attempt that must wait, with its ticket. */
export function toldToWait(
  { cookies }: Pick<OpenRequest<unknown>, 'cookies'>,
  { sealedCookies, random, clock }: Pick<PanelServices, 'sealedCookies' | 'random' | 'clock'>,
  { name, network }: TicketFor,
  waitMs: number,
): HttpRefusal {
  const ticket = { id: generateMarker(random), name, network, dueAt: clock.now() + waitMs };
  const seconds = Math.ceil(waitMs / 1000);
  const kept = seconds + Math.floor(LIMITS.signInTurnKeptMs / 1000);
  const sealed = sealedCookies.seal(PURPOSE, ticket);
  return new HttpRefusal('rate_limited', [
    'Retry-After',
    String(seconds),
    ...setCookie(cookies, cookies.ticket, sealed, kept),
  ]);
}

/** Whether the browser has a ticket for this attempt, and has waited. The ticket is spent with this. */
export function takeTicket(
  { cookie, cookies }: Pick<OpenRequest<unknown>, 'cookie' | 'cookies'>,
  { sealedCookies, spentTickets, clock }: Pick<PanelServices, 'sealedCookies' | 'spentTickets' | 'clock'>,
  { name, network }: TicketFor,
): boolean {
  const sealed = cookie(cookies.ticket);
  const ticket = ticketSchema.safeParse(sealed === undefined ? undefined : sealedCookies.open(PURPOSE, sealed)).data;
  if (ticket?.name !== name || ticket.network !== network) return false;
  return isDue(ticket.dueAt, clock.now()) && spentTickets.spend(ticket.id);
}
