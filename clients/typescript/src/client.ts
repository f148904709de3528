import { anyBodyOf, doneOf, jsonOf, listOf, type Answer } from './answers.ts';
import type { Connection } from './connection.ts';
import { genericOperation } from './operations.ts';
import type { CallOptions, CreateOptions, GenericAnswer, GenericRequest } from './options.ts';
import type { Operation, Transport } from './transport.ts';

/** The common part of the three clients. Every method throws MusterError. */
export abstract class Client {
  readonly #name: string;
  readonly #connection: Connection;
  readonly #transport: Transport;

  /** @param name of the class, which a bundler may rename */
  constructor(name: string, connection: Connection, transport: Transport) {
    this.#name = name;
    this.#connection = connection;
    this.#transport = transport;
  }

  /** Any request; a POST is sent again after a lost answer where it has an `idempotencyKey`. */
  async request(request: GenericRequest, options: CreateOptions = {}): Promise<GenericAnswer> {
    const answer = await this.send(genericOperation(request, options), options);
    return { status: answer.status, headers: answer.headers, body: anyBodyOf(answer) };
  }

  /** The address alone. */
  toString(): string {
    return `${this.#name}(${this.#connection.base})`;
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }

  protected send(operation: Operation, options?: CallOptions): Promise<Answer> {
    return this.#transport.send(operation, options);
  }

  /** @param field by which the answer is known */
  protected answered<T extends object>(
    field: keyof T & string,
    operation: Operation,
    options?: CallOptions,
  ): Promise<T> {
    return jsonOf(this.send(operation, options), field);
  }

  /** @param field by which the answer is known, a list of objects */
  protected listed<T extends object>(field: keyof T & string, operation: Operation, options?: CallOptions): Promise<T> {
    return listOf(this.send(operation, options), field);
  }

  /** The answer has no body. */
  protected done(operation: Operation, options?: CallOptions): Promise<void> {
    return doneOf(this.send(operation, options));
  }
}
