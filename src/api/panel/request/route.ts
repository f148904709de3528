import type { IncomingMessage } from 'node:http';
import type * as z from 'zod';
import type { FailedAttempt } from '../../../domain/access-audit/failed-attempts.ts';
import type { RefusedSignIns } from '../../../domain/access-audit/refused-sign-ins.ts';
import type { Caller } from '../../../domain/apps/own-app.ts';
import type { AccessTokens } from '../../../domain/access-tokens/access-tokens.ts';
import type { Fleet } from '../../../domain/fleet/fleet.ts';
import type { FleetReader } from '../../../domain/fleet/reader.ts';
import type { Origin } from '../../../domain/mutation/step.ts';
import type { CollectorTests } from '../../../domain/otel-config/collector-test.ts';
import type { ReadServiceState } from '../../../domain/service-state/service-state.ts';
import type { RestrictedRole } from '../../../domain/records/user-records.ts';
import type { Sessions, SignedIn } from '../../../domain/sessions/sessions.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { RandomSource } from '../../../domain/credentials/random-ids.ts';
import type { DeviceRate } from '../../../domain/devices/device-rate-limit.ts';
import type { Passwords } from '../../../domain/passwords/password-hash.ts';
import type { AcceptLink } from '../../../domain/users/accept-link.ts';
import type { Members } from '../../../domain/users/members.ts';
import type { Passkeys, PasswordChange } from '../../../domain/users/passkeys.ts';
import type { ProviderUsers } from '../../../domain/users/provider-users.ts';
import type { RefreshTokens } from '../../../domain/sessions/refresh-tokens.ts';
import type { SignInMetrics } from '../../../domain/sign-ins/metrics.ts';
import type { SignIns } from '../../../domain/sign-ins/sign-ins.ts';
import type { Log } from '../../../log.ts';
import type { ProviderClient } from '../../../oidc/provider-client.ts';
import type { Store } from '../../../store/port.ts';
import type { Clock } from '../../../time/clock.ts';
import type { PanelConfig, WatchedProvider } from '../../../config/panel.ts';
import type { Known } from '../../contract/answers.ts';
import { isForTokens } from '../../contract/panel/access-tokens/reach.ts';
import type { PublicAddresses } from '../../contract/panel/addresses.ts';
import type { Answers, Method, Operation, PanelRight } from '../../contract/operation.ts';
import type { OperatorCall, OperatorServices } from '../../operator/route.ts';
import type { OpenOperation } from '../../serve/role-rights.ts';
import type { Call, Route, RouteOptions } from '../../serve/route.ts';
import type { Services as V1Services } from '../../v1/operations/route.ts';
import type { LiveHub } from '../live/live-hub.ts';
import type { RemovedApps } from '../live/removed-apps.ts';
import type { CookieNames } from './cookies.ts';
import type { SealedCookies } from './sealed-cookie.ts';
import type { WatchedReads } from '../live/shared-reads.ts';

/** The services that the operations of the panel use. */
export interface PanelServices extends OperatorServices, V1Services {
  readonly fleet: Fleet;
  readonly members: Members;
  readonly passwords: Passwords;
  readonly passkeys: Passkeys;
  readonly signIns: SignIns;
  readonly signInMetrics: SignInMetrics;
  readonly acceptLink: AcceptLink;
  readonly refusedSignIns: RefusedSignIns;
  readonly setPassword: (origin: Origin, change: PasswordChange) => Promise<void>;
  /** Counts what an address tries and asks for without a session. */
  readonly addressRates: AddressRates;
  /** The states that the provider's answers had: its codes are good once everywhere. */
  readonly spentStates: SpentOnce;
  readonly spentTickets: SpentOnce;
  /** The provider at which people sign in; undefined where there is none. */
  readonly provider: SignInProvider | undefined;
  readonly providerUsers: ProviderUsers;
  readonly refreshTokens: RefreshTokens;
  readonly log: Log;
  readonly random: RandomSource;
  readonly sessions: Sessions;
  readonly accessTokens: AccessTokens;
  readonly sealedCookies: SealedCookies;
  readonly collectorTests: CollectorTests;
  readonly serviceState: ReadServiceState;
  /** The addresses by which clients reach the other listeners. */
  readonly publicUrls: () => PublicAddresses;
  readonly watched: WatchedReads;
  readonly removedApps: RemovedApps;
  /** The operations of the panel that a restricted role on the installation may call. */
  readonly openTo: (role: RestrictedRole) => readonly OpenOperation[];
  readonly live: LiveHub;
  readonly clock: Pick<Clock, 'now'>;
  readonly store: Pick<Store, 'get' | 'list'>;
  readonly pollIntervalSeconds: number;
  /** The settings of the panel, with its public origin. */
  readonly panel: PanelConfig & { readonly url: string };
}

/** The rates of an address, each of a kind of requests on this replica. */
interface AddressRates {
  /** Attempts with a secret. */
  readonly attempts: DeviceRate;
  /** Challenges, links that are read or used, and ways to the provider: no secret can be guessed by them. */
  readonly asks: DeviceRate;
}

/** The provider of sign-ins, and how it is asked. */
export interface SignInProvider {
  readonly client: ProviderClient;
  readonly settings: Pick<WatchedProvider, 'groupsClaim' | 'groups' | 'secondFactor' | 'newcomers'>;
}

/** The values that were used, each good once on this replica. */
export interface SpentOnce {
  /** @returns whether it was not spent before */
  spend(one: string): boolean;
}

/** The part of a call that every operation of the panel has. */
export interface OpenCall {
  /** The origin by which the browser knows the panel, such as `https://panel.example.com`. */
  readonly panelOrigin: string;
  readonly cookies: CookieNames;
  readonly cookie: (name: string) => string | undefined;
  /** The address of the client. */
  readonly client: string;
  /** The browser in a few words, such as `Firefox on Linux`. */
  readonly browser: string;
  /** Tells of a failed sign-in whose answer is no error. */
  readonly failed: (attempt: FailedAttempt) => void;
  /** The session that the request has anyway. @throws StoreUnavailable */
  readonly optionalSession: () => Promise<SignedIn | undefined>;
  /** The origin of a change by an actor whom no session names. */
  readonly originOf: (actor: string) => Origin;
  /** The origin of a change by a user: his session and a right of his are expected by its commit. */
  readonly userOrigin: (signedIn: SignedIn) => Origin;
  /** Bounds one step of many by the time of a whole request, in a route with a deadline of its own. */
  readonly inTime: OperatorCall['inTime'];
  /**
   * Reads the body as a form, for a route that takes no JSON.
   * @throws Refusal `invalid_request`; HttpRefusal `payload_too_large` or `overloaded`
   */
  readonly form: () => Promise<URLSearchParams>;
  readonly request: IncomingMessage;
}

/** The part of a call that only a session makes. */
interface InSession extends OpenCall {
  readonly signedIn: SignedIn;
  /** A person has asked, and not a page that is left open. */
  readonly isUse: boolean;
}

/** The part of a call of a person, by a session or by an access token, whose right the door has judged. */
export interface PanelCall extends OperatorCall {
  /** Undefined for an access token: what it may call needs neither a session nor what a browser sends. */
  readonly inSession: InSession | undefined;
  /** The fleet as the person and the right were found in it. */
  readonly reader: FleetReader;
  /** The user, or the access token: what one is shown once, no other gets by guessing an Idempotency-Key. */
  readonly scope: string;
  /** The user and the right: an answer that another user or another right got is none that this one has (P16). */
  readonly readAs: string;
  /** The user and the account in the path, for the operations on an account's own records. */
  readonly caller: Caller;
  /** P9: charges the user a further change, for work that shows itself. @throws HttpRefusal `rate_limited` */
  readonly chargeChange: () => void;
  /**
   * Judges the session, its user, the right and the second factor as for a new request. A session may be idle: a
   * download that lasts is a use of it.
   * @throws Refusal `invalid_session`, `forbidden`, `not_found`, `account_disabled`, `second_factor_required`;
   *   StoreUnavailable
   */
  readonly judgeAgain: () => Promise<void>;
}

/** The call of a session. */
interface SessionCall extends PanelCall, InSession {
  readonly inTime: OpenCall['inTime'];
}

/** A request of the panel that needs no session, as a handler gets it. */
export type OpenRequest<Body, Query = unknown> = Call<Body, Query> & OpenCall;

/** A request by a session, as a handler gets it that needs one. */
export type SessionRequest<Body, Query = unknown> = Call<Body, Query> & SessionCall;

/** A request of a person, as a handler gets it. */
export type PanelRequest<Body, Query = unknown> = Call<Body, Query> & PanelCall;

/** An operation for anyone. */
export interface OpenRoute<
  Shape extends z.core.$ZodShape,
  A extends Answers = Answers,
  Query extends z.ZodObject = z.ZodObject,
> extends Route<OpenCall, PanelServices, Shape, A, Query> {
  readonly access: 'anyone';
}

/** An operation for signed-in users. */
export interface PanelRoute<
  Shape extends z.core.$ZodShape,
  A extends Answers = Answers,
  Query extends z.ZodObject = z.ZodObject,
> extends Route<PanelCall, PanelServices, Shape, A, Query> {
  readonly access: PanelRight;
}

/** Gives an operation for anyone its handler. */
export const handleOpen =
  <Shape extends z.core.$ZodShape, A extends Answers, Query extends z.ZodObject>(
    operation: Operation<Shape, A, string, Method, Query> & Known<A>,
    options: RouteOptions = {},
  ) =>
  (handler: OpenRoute<Shape, A, Query>['handle']): OpenRoute<Shape, A, Query> => ({
    ...operation,
    ...options,
    access: 'anyone',
    handle: handler,
  });

/** Gives an operation its handler, for those whom the operation names. */
export const handle =
  <Shape extends z.core.$ZodShape, A extends Answers, Query extends z.ZodObject>(
    operation: Operation<Shape, A, string, Method, Query> & Known<A>,
    options: RouteOptions = {},
  ) =>
  (handler: PanelRoute<Shape, A, Query>['handle']): PanelRoute<Shape, A, Query> =>
    panelRoute({ ...operation, ...options }, handler);

/** Gives an operation a handler that needs a session: one that no access token reaches. */
export const handleInSession =
  <Shape extends z.core.$ZodShape, A extends Answers, Query extends z.ZodObject>(
    operation: Operation<Shape, A, string, Method, Query> & Known<A>,
    options: RouteOptions = {},
  ) =>
  (
    handler: (
      request: SessionRequest<z.infer<z.ZodObject<Shape>>, z.infer<Query>>,
      services: PanelServices,
    ) => ReturnType<PanelRoute<Shape, A, Query>['handle']>,
  ): PanelRoute<Shape, A, Query> => {
    if (isForTokens(operation)) throw new Error(`${operation.id} is for access tokens as well, which have no session.`);
    return handle(
      operation,
      options,
    )((request, services) => {
      const { inSession } = request;
      if (!inSession) throw new Refusal('forbidden');
      return handler({ ...request, ...inSession }, services);
    });
  };

/** An operation with the handler that it has at another listener already, which was judged by its answers. */
export function panelRoute<Shape extends z.core.$ZodShape, A extends Answers, Query extends z.ZodObject>(
  operation: Operation<Shape, A, string, Method, Query> & RouteOptions,
  handler: PanelRoute<Shape, A, Query>['handle'],
): PanelRoute<Shape, A, Query> {
  const { access = 'operator' } = operation;
  if (access === 'anyone') throw new Error(`${operation.id} is open to anyone: handleOpen gives it its handler.`);
  return { ...operation, access, handle: operation.method === 'get' ? handler : writing(handler) };
}

/** The views of an account that are shared for a while are read anew after a write. */
const writing =
  <Shape extends z.core.$ZodShape, A extends Answers, Query extends z.ZodObject>(
    handler: PanelRoute<Shape, A, Query>['handle'],
  ): PanelRoute<Shape, A, Query>['handle'] =>
  async (request, services) => {
    const reply = await handler(request, services);
    if (request.accountId !== '') services.watched.forget(request.accountId);
    return reply;
  };
