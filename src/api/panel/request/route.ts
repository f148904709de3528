import type { IncomingMessage } from 'node:http';
import type * as z from 'zod';
import type { MaybePromise } from '../../../concurrency/maybe-promise.ts';
import type { FailedAttempt } from '../../../domain/access-audit/failed-attempts.ts';
import type { RefusedSignIns } from '../../../domain/access-audit/refused-sign-ins.ts';
import type { Caller } from '../../../domain/apps/apps.ts';
import type { NewestAudit } from '../../../domain/audit/newest.ts';
import type { Fleet } from '../../../domain/fleet/fleet.ts';
import type { Origin } from '../../../domain/mutation/step.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { ReadServiceState } from '../../../domain/service-state/service-state.ts';
import type { Sessions, SignedIn } from '../../../domain/sessions/sessions.ts';
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
import {
  ACCOUNT_ID,
  APP_ID,
  ENTRY_ID,
  KEY_ID,
  LINK_ID,
  PASSKEY_ID,
  SESSION_ID,
  USER_ID,
} from '../../contract/fields.ts';
import type { Answered, Known } from '../../contract/answers.ts';
import type { Answers, Operation } from '../../contract/operation.ts';
import type { OperatorRequest, OperatorServices } from '../../operator/route.ts';
import type { Services as V1Services } from '../../v1/operations/route.ts';
import type { CookieNames } from './cookies.ts';
import type { SealedCookies } from './sealed-cookie.ts';
import type { WatchedReads } from './shared-reads.ts';

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
  readonly sealedCookies: SealedCookies;
  readonly newestAudit: NewestAudit;
  readonly serviceState: ReadServiceState;
  readonly watched: WatchedReads;
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

/** What was used, each good once on this replica. */
export interface SpentOnce {
  /** @returns whether it was not spent before */
  spend(one: string): boolean;
}

/** The shapes of the ids in a path, by name; another shape is 404. */
const PATH_IDS = {
  accountId: ACCOUNT_ID,
  appId: APP_ID,
  keyId: KEY_ID,
  entryId: ENTRY_ID,
  userId: USER_ID,
  sessionId: SESSION_ID,
  linkId: LINK_ID,
  passkeyId: PASSKEY_ID,
} as const;
/** The ids in the path; `''` for a name that the path does not have. */
type PanelIds = { readonly [Name in keyof typeof PATH_IDS]: string };

/** @throws Refusal `not_found` */
export function panelIds(params: Readonly<Record<string, string | string[]>>): PanelIds {
  const idOf = (name: keyof PanelIds): string => {
    const id = params[name] ?? '';
    if (typeof id !== 'string' || (name in params && !PATH_IDS[name].test(id))) throw new Refusal('not_found');
    return id;
  };
  return {
    accountId: idOf('accountId'),
    appId: idOf('appId'),
    keyId: idOf('keyId'),
    entryId: idOf('entryId'),
    userId: idOf('userId'),
    sessionId: idOf('sessionId'),
    linkId: idOf('linkId'),
    passkeyId: idOf('passkeyId'),
  };
}

/** A request of the panel that needs no session, as a handler gets it. */
export interface OpenRequest<Body> extends PanelIds {
  readonly body: Body;
  readonly query: URLSearchParams;
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
  readonly inTime: OperatorRequest<unknown>['inTime'];
  /**
   * Reads the body as a form, for a route that takes no JSON.
   * @throws Refusal `invalid_request`; HttpRefusal `payload_too_large` or `overloaded`
   */
  readonly form: () => Promise<URLSearchParams>;
  readonly request: IncomingMessage;
}

/** A request of a signed-in user, whose right the server has judged. */
export interface PanelRequest<Body> extends OpenRequest<Body>, OperatorRequest<Body> {
  readonly signedIn: SignedIn;
  /** Whether a person has asked, and not a page that is left open. */
  readonly isUse: boolean;
  /** The user and the account in the path, for the operations on an account's own records. */
  readonly caller: Caller;
}

interface RouteBase<Shape extends z.core.$ZodShape, A extends Answers> extends Operation<Shape, A> {
  /** Milliseconds; longer than for other requests (H15) where the work has many steps, each bounded by `inTime`. */
  readonly deadlineMs?: number;
  /** Takes a write from elsewhere than a page of the panel, such as from the provider, and a form in place of JSON. */
  readonly foreign?: true;
}

/** An operation for anyone, with its handler, which throws Refusal, StoreUnavailable and Busy. */
export interface OpenRoute<Shape extends z.core.$ZodShape, A extends Answers = Answers> extends RouteBase<Shape, A> {
  readonly access: 'anyone';
  handle(request: OpenRequest<z.infer<z.ZodObject<Shape>>>, services: PanelServices): MaybePromise<Answered<A>>;
}

/** An operation for signed-in users, with its handler. */
export interface PanelRoute<Shape extends z.core.$ZodShape, A extends Answers = Answers> extends RouteBase<Shape, A> {
  readonly access: 'signed-in' | 'viewer' | 'owner' | 'operator';
  handle(request: PanelRequest<z.infer<z.ZodObject<Shape>>>, services: PanelServices): MaybePromise<Answered<A>>;
}

/** An operation of the panel, with its handler. */
export type AnyRoute<Shape extends z.core.$ZodShape> = OpenRoute<Shape> | PanelRoute<Shape>;

/** Gives an operation for anyone its handler. */
export const handleOpen =
  <Shape extends z.core.$ZodShape, A extends Answers>(
    operation: Operation<Shape, A> & Known<A>,
    options: Pick<OpenRoute<Shape>, 'deadlineMs' | 'foreign'> = {},
  ) =>
  (handler: OpenRoute<Shape, A>['handle']): OpenRoute<Shape, A> => ({
    ...operation,
    ...options,
    access: 'anyone',
    handle: handler,
  });

/** Gives an operation its handler, for those whom the operation names. */
export const handle = <Shape extends z.core.$ZodShape, A extends Answers>(
  operation: Operation<Shape, A> & Known<A>,
  deadlineMs?: number,
) => {
  const { access = 'operator' } = operation;
  if (access === 'anyone') throw new Error(`${operation.id} is open to anyone: handleOpen gives it its handler.`);
  return (handler: PanelRoute<Shape, A>['handle']): PanelRoute<Shape, A> => ({
    ...operation,
    access,
    handle: handler,
    ...(deadlineMs !== undefined && { deadlineMs }),
  });
};
