import { HEAD_KEY, type Change, type Write } from '../port.ts';

/**
 * What changes rely on and write, to tell whether one more can ride in the same request: etcd compares for all of them
 * before it writes for any. A key that one writes and another expects would let both through (write skew), whichever
 * came first; a key that two of them write is refused, or, where one is a range that is removed, up to their order.
 * Keys that are only expected may be shared.
 */
export class Claims {
  private readonly expected = new Set<string>();
  private readonly written = new Set<string>();
  private readonly removed: string[] = [];
  private movesHead = false;

  add({ expect, write, quiet }: Change): void {
    for (const { key } of expect) this.expected.add(key);
    for (const one of write) {
      if ('removeAll' in one) this.removed.push(one.removeAll);
      else this.written.add(keyOf(one));
    }
    this.movesHead ||= quiet !== true;
  }

  clashWith({ expect, write, quiet }: Change): boolean {
    // `head` is put once for all who move it, so that these clash with who expects it and not with each other.
    if (quiet !== true && this.expected.has(HEAD_KEY)) return true;
    return expect.some(({ key }) => this.writes(key)) || write.some((one) => this.touchedBy(one));
  }

  private writes(key: string): boolean {
    if (key === HEAD_KEY) return this.movesHead;
    return this.written.has(key) || this.removed.some((prefix) => key.startsWith(prefix));
  }

  private touchedBy(write: Write): boolean {
    if ('removeAll' in write) return this.liesUnder(write.removeAll);
    const key = keyOf(write);
    return this.expected.has(key) || this.writes(key);
  }

  private liesUnder(prefix: string): boolean {
    const isUnder = (key: string): boolean => key.startsWith(prefix);
    if (this.removed.some((other) => isUnder(other) || prefix.startsWith(other))) return true;
    return this.expected.values().some(isUnder) || this.written.values().some(isUnder);
  }
}

function keyOf(write: Exclude<Write, { removeAll: string }>): string {
  return 'put' in write ? write.put : write.remove;
}
