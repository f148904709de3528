import { HEAD_KEY, type Change, type Write } from '../port.ts';

/**
 * The keys that the changes of one request expect and write, to tell whether one more change may join them. etcd
 * compares for all changes before it writes for any: where one writes a key that another expects, both would go through
 * (write skew). A key that two of them put is refused; where one removes a range with the key, the outcome would depend
 * on their order. Keys that are only expected may be shared.
 */
export class Claims {
  readonly #expected = new Set<string>();
  readonly #written = new Set<string>();
  readonly #removed: string[] = [];
  #movesHead = false;

  add({ expect, write, quiet }: Change): void {
    for (const { key } of expect) this.#expected.add(key);
    for (const one of write) {
      if ('removeAll' in one) this.#removed.push(one.removeAll);
      else this.#written.add(keyOf(one));
    }
    this.#movesHead ||= quiet !== true;
  }

  clashWith({ expect, write, quiet }: Change): boolean {
    // `head` is put once for all changes that move it: these clash with a change that expects it, not with each other.
    if (quiet !== true && this.#expected.has(HEAD_KEY)) return true;
    return expect.some(({ key }) => this.#writes(key)) || write.some((one) => this.#touchedBy(one));
  }

  #writes(key: string): boolean {
    if (key === HEAD_KEY) return this.#movesHead;
    return this.#written.has(key) || this.#removed.some((prefix) => key.startsWith(prefix));
  }

  #touchedBy(write: Write): boolean {
    if ('removeAll' in write) return this.#liesUnder(write.removeAll);
    const key = keyOf(write);
    return this.#expected.has(key) || this.#writes(key);
  }

  #liesUnder(prefix: string): boolean {
    const isUnder = (key: string): boolean => key.startsWith(prefix);
    if (this.#removed.some((other) => isUnder(other) || prefix.startsWith(other))) return true;
    return this.#expected.values().some(isUnder) || this.#written.values().some(isUnder);
  }
}

function keyOf(write: Exclude<Write, { removeAll: string }>): string {
  return 'put' in write ? write.put : write.remove;
}
