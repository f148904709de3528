import type * as z from 'zod';
import type { Answers, Success } from './operation.ts';

declare const json: unique symbol;

/** Text or bytes that are the JSON of a T. */
export type Json<T> = (string | Buffer) & { readonly [json]: T };

/** Bytes that are the JSON of a T. */
export type JsonBytes<T> = Json<T> & Buffer;

/** The JSON of a value. */
export const asJson = <T>(value: T): Json<T> => JSON.stringify(value) as Json<T> & string;

/** The JSON of an object whose one field is a list of what is JSON already. */
export const jsonOfList = <Field extends string, T>(
  field: Field,
  items: readonly Json<T>[],
): JsonBytes<Record<Field, T[]>> => Buffer.from(`{"${field}":[${items.join(',')}]}`) as JsonBytes<Record<Field, T[]>>;

/** What a schema describes, as it may be sent: a handler may answer arrays and objects that it must not change. */
export type Sent<T> = T extends readonly (infer Item)[]
  ? readonly Sent<Item>[]
  : T extends object
    ? { readonly [Field in keyof T]: Sent<T[Field]> }
    : T;

/** What an answer may have beside its status and its body. */
interface Beside {
  /** Names and values in turn. */
  readonly headers?: readonly string[];
  /** The Cache-Control field; `CACHE_CONTROL` without it. */
  readonly cache?: string;
}

/** An object is sent as JSON. */
type BodyOf<Schema extends z.ZodType> = Sent<z.output<Schema>> | Json<z.output<Schema>>;

type AnswerOf<S extends Success> = Success extends S
  ? Beside & { readonly status: number; readonly body?: object | string | Buffer }
  : Beside & { readonly status: S['status'] } & BodyField<S>;

type BodyField<S extends Success> = S extends { readonly schema: infer Schema extends z.ZodType }
  ? { readonly body: BodyOf<Schema> | (S extends { readonly otherTypes: object } ? string | Buffer : never) }
  : S extends { readonly otherTypes: object }
    ? { readonly body: string | Buffer }
    : { readonly body?: never };

/** The answers that a handler of an operation may give: the compiler judges them by the operation's schemas. */
export type Answered<A extends Answers> = { [Index in keyof A]: AnswerOf<A[Index]> }[number];
