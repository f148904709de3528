import type * as z from 'zod';
import type { OperatorRole } from '../../config/operator-tokens.ts';
import type { SignInWay } from '../../domain/access-audit/failed-attempts.ts';
import type { KeyUse } from '../../domain/key-validity/key-restriction.ts';
import type { RefusalCode } from '../../domain/refusal.ts';
import type { ErrorCode } from '../http/errors.ts';
import type { FieldCodes, Judged } from '../http/json-body.ts';

/*
 * An operation says what a request and its answers look like, and nothing of how the service makes them. The routes add
 * the handlers; the OpenAPI documents, the reference page and the clients come from the operations alone.
 */

/** The headers of an answer that is no error, beside those that every answer of its API has. */
export type AnswerHeader =
  | 'Content-Disposition'
  | 'ETag'
  | 'Idempotency-Replayed'
  | 'Link'
  | 'Location'
  | 'Muster-Usage-Complete'
  | 'Retry-After'
  | 'Set-Cookie';

/** An answer that is no error. */
export interface Success {
  readonly status: 200 | 201 | 202 | 204 | 302 | 303 | 304;
  /** One sentence. */
  readonly description: string;
  /** The JSON of the answer; absent where it has no body. */
  readonly schema?: z.ZodType;
  /** Bodies in other formats than JSON, by media type, each with an example. */
  readonly otherTypes?: Readonly<Record<string, string>>;
  readonly headers?: readonly AnswerHeader[];
}

/** The headers that a request may have, beside the bearer and `X-Request-Id`, which every request may have. */
export type RequestHeader =
  | 'If-Match'
  | 'If-None-Match'
  | 'Prefer'
  | 'Muster-Platform'
  | 'Muster-Agent-Version'
  | 'Muster-Instance-Id'
  | 'Accept';

/**
 * Who may call an operation of the panel: anyone, a signed-in user, a viewer or an owner of the account in the path, or
 * an operator. An owner may do what a viewer may, and an operator may do what an owner may. `roles` names further ones.
 */
export type PanelAccess = 'anyone' | 'signed-in' | 'viewer' | 'owner' | 'operator';

/** The right without which a signed-in user may not call an operation of the panel. */
export type PanelRight = Exclude<PanelAccess, 'anyone'>;

/** A field of a body, wherever it is given, or with one value alone. */
export type BodyField<Field extends string> = Field | { readonly field: Field; readonly is: unknown };

/** The roles that may do less than everything of the operator API. */
export type LesserRole = Exclude<OperatorRole, 'operator'>;

/** The right of a role: the whole operation, or a request whose body has none but these fields. */
export type RoleRight<Field extends string = string> = true | readonly [BodyField<Field>, ...BodyField<Field>[]];

/** The rights of roles; the role `operator` has every one, and a role that is not named has none. */
export type RoleRights<Field extends string = string> = { readonly [Role in LesserRole]?: RoleRight<Field> };

/** The right of those who read the whole installation, for what has no secret. */
export const READERS = { support: true, auditor: true } as const satisfies RoleRights;

/** The treatment of an Idempotency-Key (H19). */
interface Idempotency<Shape extends z.core.$ZodShape = z.core.$ZodShape> {
  /** The treatment of a malformed one: refused with this code, or ignored. */
  readonly malformed: RefusalCode | 'ignored';
  /** The content that a repetition must have in common with the first request; `''` where it has none. */
  question(this: void, body: z.output<z.ZodObject<Shape>>): string;
  /** The path at which the repetitions of a request are known, where it is not the operation's own. */
  readonly path?: string;
}

/** The answers of an operation that are no errors. */
export type Answers = readonly [Success, ...Success[]];

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** One operation of an API. */
export interface Operation<
  Shape extends z.core.$ZodShape = z.core.$ZodShape,
  A extends Answers = Answers,
  Path extends string = string,
  M extends Method = Method,
  Query extends z.ZodObject = z.ZodObject,
> {
  /** The operation's id in the document, and the name of its method in the clients. */
  readonly id: string;
  readonly method: M;
  /** With its parameters as Express spells them: `/v1/apps/:appId`. */
  readonly path: Path;
  /** A heading of a few words, as an instruction. */
  readonly summary: string;
  /** Markdown, in whole sentences. */
  readonly description: string;
  readonly body?: z.ZodObject<Shape>;
  /** The code of each field of the body, in the order in which the fields are judged. */
  readonly refuse?: FieldCodes<Shape>;
  readonly query?: Query;
  readonly headers?: readonly RequestHeader[];
  /** The entitlement without which it is 403, before the body is read (H1). */
  readonly requires?: 'enterprise';
  /** H23: the API keys of less access that may call it, of `/v1` alone; absent where none may. */
  readonly keyUse?: Exclude<KeyUse, 'full'>;
  /**
   * The roles beside `operator` that may call it, of the operator API and of people in the panel; absent where none
   * may. In the panel `access` tells besides who may for a role on the account.
   */
  readonly roles?: RoleRights<keyof Shape & string>;
  /** H19; absent where the operation takes no Idempotency-Key. */
  readonly idempotency?: Idempotency<Shape>;
  /** The secret in its request that signs somebody in: a failed one is counted, logged and audited (ADR 0032). */
  readonly signsInBy?: SignInWay;
  /** Of the panel alone. */
  readonly access?: PanelAccess;
  /** The right by which the panel has the operation too, on the account in its path; of `/v1` alone. */
  readonly panel?: PanelRight;
  /**
   * Makes a further way in, or shows all secrets (A18): the session must have proved who its user is within
   * `LIMITS.freshProofMs`. `or-new-sign-in`: a user who has neither a password nor a passkey may have signed in so
   * lately instead. A list names fields of the body: a proof is needed where one of them is given.
   * `by-state`: the handler judges it, by what the request would change.
   */
  readonly freshProof?: true | 'or-new-sign-in' | 'by-state' | readonly BodyField<keyof Shape & string>[];
  /** Answers while the second factor that the installation asks for is not there yet. */
  readonly beforeSecondFactor?: true;
  /**
   * The panel sends its answer as it is: it has what nobody must guess by the length of the compressed answer, beside
   * what somebody else may have written (P16).
   */
  readonly uncompressed?: true;
  /** Works without a credential; `optional` where a bearer changes what it does. */
  readonly credential?: 'optional';
  /**
   * Optional fields of the body that its example and the samples leave out: with the others they would do harm, or lie.
   */
  readonly exampleWithout?: readonly string[];
  readonly answers: A;
  /** Its errors, beside those that follow from the API, the path, the body and the entitlement. */
  readonly errors?: readonly ErrorCode[];
  /** Whether a 429 of the panel gives the browser a ticket, with which it comes back. */
  readonly ticket?: true;
  /** The arguments of the command `muster` that do the same with the example; a value of it stands as `{field}`. */
  readonly command?: string;
}

/** Answers without a field that no answer has: the compiler judges no misspelt one of a type parameter by itself. */
type Exact<A extends Answers> = {
  readonly answers: {
    readonly [Index in keyof A]: { readonly [Other in Exclude<keyof A[Index], keyof Success>]: never };
  };
};

/** Tells the compiler whether the panel has the operation. */
interface InPanel<Right extends PanelRight | undefined> {
  readonly panel?: Right;
}

/** Gives an operation the types of its body, its answers, its path, its method and its query where it is written. */
export function operation<
  Shape extends z.core.$ZodShape,
  const A extends Answers,
  const Path extends string,
  const M extends Method,
  Query extends z.ZodObject,
  const Right extends PanelRight | undefined = undefined,
>(
  definition: Operation<Shape, A, Path, M, Query> & Judged<Shape> & Exact<A> & InPanel<Right>,
): Operation<Shape, A, Path, M, Query> & Judged<Shape> & InPanel<Right>;
export function operation<
  Shape extends z.core.$ZodShape,
  const A extends Answers,
  const Path extends string,
  const M extends Method,
  Query extends z.ZodObject,
  const Right extends PanelRight | undefined = undefined,
>(
  definition: Operation<Shape, A, Path, M, Query> & Exact<A> & InPanel<Right>,
): Operation<Shape, A, Path, M, Query> & InPanel<Right>;
export function operation(definition: Operation): Operation {
  return definition;
}
