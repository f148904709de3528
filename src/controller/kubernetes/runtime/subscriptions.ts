/** Names the resources that are to be reconciled when an account, or one app, changes in Muster. */
export class Subscriptions {
  readonly #byAccount = new Map<string, Set<string>>();
  readonly #byApp = new Map<string, Set<string>>();
  /** The keys that subscribe to any app of the account. */
  readonly #byOwner = new Map<string, Set<string>>();
  readonly #undo = new Map<string, () => void>();

  /**
   * Subscribes a key instead of what it subscribed to before: with an app to the changes of that app, and in any case
   * to those of the account itself, its keys and its configuration.
   */
  subscribe(key: string, accountId: string, appId: string | undefined): void {
    this.unsubscribe(key);
    const undo =
      appId === undefined
        ? [join(this.#byAccount, accountId, key)]
        : [join(this.#byApp, appId, key), join(this.#byOwner, accountId, key)];
    this.#undo.set(key, () => undo.forEach((leave) => leave()));
  }

  unsubscribe(key: string): void {
    this.#undo.get(key)?.();
    this.#undo.delete(key);
  }

  /**
   * The keys to reconcile. Without an app anything of the account may have changed: memory that is filled anew does not
   * tell of each app.
   */
  *keysOf(accountId: string, appId: string | undefined): Iterable<string> {
    if (appId !== undefined) return yield* this.#byApp.get(appId) ?? [];
    yield* this.#byAccount.get(accountId) ?? [];
    yield* this.#byOwner.get(accountId) ?? [];
  }
}

function join(index: Map<string, Set<string>>, id: string, key: string): () => void {
  let keys = index.get(id);
  if (!keys) index.set(id, (keys = new Set()));
  keys.add(key);
  return () => {
    keys.delete(key);
    if (keys.size === 0 && index.get(id) === keys) index.delete(id);
  };
}
