import type * as z from 'zod';
import type { Sent } from '../../src/api/contract/answers.ts';
import type { Answers, Method, Operation } from '../../src/api/contract/operation.ts';
import type * as accessTokens from '../../src/api/contract/panel/access-tokens/operations.ts';
import type * as account from '../../src/api/contract/panel/account.ts';
import type * as addresses from '../../src/api/contract/panel/addresses.ts';
import type * as appBatch from '../../src/api/contract/panel/apps/app-batch.ts';
import type * as apps from '../../src/api/contract/panel/apps/apps.ts';
import type * as configuration from '../../src/api/contract/panel/configuration.ts';
import type { AtPanel } from '../../src/api/contract/panel/derived.ts';
import type * as fleetHistory from '../../src/api/contract/panel/fleet-history.ts';
import type * as history from '../../src/api/contract/panel/history.ts';
import type * as links from '../../src/api/contract/panel/links.ts';
import type * as live from '../../src/api/contract/panel/live.ts';
import type * as me from '../../src/api/contract/panel/me.ts';
import type * as members from '../../src/api/contract/panel/members.ts';
import type * as operator from '../../src/api/contract/panel/operator.ts';
import type * as ownSignIn from '../../src/api/contract/panel/own-sign-in.ts';
import type * as proof from '../../src/api/contract/panel/proof.ts';
import type * as signIn from '../../src/api/contract/panel/sign-in.ts';
import type * as v1Apps from '../../src/api/contract/v1/apps.ts';
import type * as v1OtelConfig from '../../src/api/contract/v1/otel-config.ts';

/* The operations of `/panel/v1` as types: what `ask` takes and gives follows from the contract of the service. */

interface AnyOperation {
  readonly method: Method;
  readonly path: string;
  readonly answers: Answers;
}
type OperationsIn<Contract> = {
  [Name in keyof Contract]: Contract[Name] extends AnyOperation ? Contract[Name] : never;
}[keyof Contract];

type PanelOperation =
  | OperationsIn<typeof accessTokens>
  | OperationsIn<typeof account>
  | OperationsIn<typeof addresses>
  | OperationsIn<typeof appBatch>
  | OperationsIn<typeof apps>
  | OperationsIn<typeof configuration>
  | OperationsIn<typeof fleetHistory>
  | OperationsIn<typeof history>
  | OperationsIn<typeof links>
  | OperationsIn<typeof live>
  | OperationsIn<typeof me>
  | OperationsIn<typeof members>
  | OperationsIn<typeof operator>
  | OperationsIn<typeof ownSignIn>
  | OperationsIn<typeof proof>
  | OperationsIn<typeof signIn>
  | AtPanel<OperationsIn<typeof v1Apps> | OperationsIn<typeof v1OtelConfig>>;

type Keyed = {
  [
    One in PanelOperation as One['path'] extends `/panel/v1${infer Path}`
      ? `${Uppercase<One['method']>} ${Path}`
      : never
  ]: One;
};

/** A method and a path below `/panel/v1`, such as `POST /accounts/:accountId/apps`. */
export type Route = keyof Keyed;

type ParametersOf<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? { readonly [Parameter in Name]: string } & ParametersOf<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? { readonly [Parameter in Name]: string }
    : unknown;

type BodyOf<One> =
  One extends Operation<infer Shape>
    ? // An operation without a body has the shape of any; one with an empty body needs none.
      string extends keyof Shape
      ? unknown
      : [keyof Shape] extends [never]
        ? unknown
        : BodyField<Sent<z.input<z.ZodObject<Shape>>>>
    : never;

type BodyField<Body> = Partial<Body> extends Body ? { readonly body?: Body } : { readonly body: Body };

type QueryOf<One> = One extends { readonly query?: infer Query extends z.ZodObject }
  ? string extends keyof z.input<Query>
    ? unknown
    : QueryField<{ readonly [Name in keyof z.input<Query>]: InQuery<z.input<Query>[Name]> }>
  : unknown;

/** A value is written as text: where any text may stand, a number may as well. */
type InQuery<Value> = string extends Value ? Value | number : Value;
type QueryField<Query> = Partial<Query> extends Query ? { readonly query?: Query } : { readonly query: Query };

interface Sending {
  /** The same key for every attempt of one create, so that a lost answer makes no second one. */
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
}

/** What a request says beside its route. Undefined values of a query are left out. */
type Asked<One extends Route> = Sending & ParametersOf<Keyed[One]['path']> & BodyOf<Keyed[One]> & QueryOf<Keyed[One]>;

/** What may stand beside the route: it may be left out where nothing must be said. */
export type Asking<One extends Route> =
  Partial<Asked<One>> extends Asked<One> ? [asked?: Asked<One>] : [asked: Asked<One>];

type BodyOfAnswer<Answer> = Answer extends { readonly schema: infer Schema extends z.ZodType }
  ? z.output<Schema>
  : Answer extends { readonly status: 204 }
    ? undefined
    : never;

/** The body of the answer; undefined where it has none. A stream, a file and a redirect have none that a page reads. */
export type AnswerTo<One extends Route> = BodyOfAnswer<Keyed[One]['answers'][number]>;

/** The operations that a page asks for; a browser opens the others by their addresses. */
export type AskedRoute = { [One in Route]: [AnswerTo<One>] extends [never] ? never : One }[Route];
