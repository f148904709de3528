/** Memory answers at once and the store with a promise; `await` takes both. */
export type MaybePromise<T> = T | Promise<T>;

/**
 * Continues with a value, at once where it is no promise: a poll is answered in a few microseconds, and every promise
 * on its way would cost one of them.
 */
export function andThen<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
