import type * as z from 'zod';
import type { OpenReply, Reply, StreamedReply } from '../http/reply.ts';
import type { Answers, Success } from './operation.ts';

declare const json: unique symbol;
declare const otherFormat: unique symbol;

/** A text or bytes that hold the JSON of a T. */
export type Json<T> = (string | Buffer) & { readonly [json]: T };

/** Bytes that hold the JSON of a T. */
export type JsonBytes<T> = Json<T> & Buffer;

/** The JSON of a value. */
export const asJson = <T>(value: T): Json<T> => JSON.stringify(value) as Json<T> & string;

/** The JSON of an object whose one field is a list of values that were rendered before. */
export const jsonOfList = <Field extends string, T>(
  field: Field,
  items: readonly Json<T>[],
): JsonBytes<Record<Field, T[]>> => Buffer.from(`{"${field}":[${items.join(',')}]}`) as JsonBytes<Record<Field, T[]>>;

/** A text in another format than JSON, such as CSV. */
export type OtherFormat = string & { readonly [otherFormat]: true };

/** Marks a text as one of a format that the operation lists among `otherTypes`. */
export const asOtherFormat = (text: string): OtherFormat => text as OtherFormat;

/** A value that fits a schema, as a handler may answer it: with arrays and objects that must not be changed. */
export type Sent<T> = T extends readonly (infer Item)[]
  ? readonly Sent<Item>[]
  : T extends object
    ? { readonly [Field in keyof T]: Sent<T[Field]> }
    : T;

/** An answer may have these beside its status and its body. */
interface Beside {
  /** Names and values in turn. */
  readonly headers?: readonly string[];
  /** The Cache-Control field; by default `CACHE_CONTROL`. */
  readonly cache?: string;
}

/** An object is sent as JSON. */
type BodyOf<Schema extends z.ZodType> = Sent<z.output<Schema>> | Json<z.output<Schema>>;

type AnswerOf<S extends Success> = Beside & { readonly status: S['status'] } & BodyField<S>;

type BodyField<S extends Success> = S extends { readonly schema: infer Schema extends z.ZodType }
  ? { readonly body: BodyOf<Schema> | (S extends { readonly otherTypes: object } ? OtherFormat : never) }
  : S extends { readonly otherTypes: object }
    ? { readonly body: OtherFormat } | StreamedReply | OpenReply
    : { readonly body?: never };

/** The answers that a handler of an operation may give: the compiler judges them by the operation's schemas. */
export type Answered<A extends Answers> = Answers extends A
  ? Reply
  : { [Index in keyof A]: Success extends A[Index] ? never : AnswerOf<A[Index]> }[number];

/** No operation whose answers the compiler does not know gets a handler: it could answer anything. */
export type Known<A extends Answers> = Answers extends A ? never : unknown;
