/** A place in a list, with its value. It is in one list at most. */
export class Link<T> {
  readonly value: T;
  list: LinkedList<T> | undefined;
  before: Link<T> | undefined;
  after: Link<T> | undefined;

  constructor(value: T) {
    this.value = value;
  }

  /** Takes it out of its list, if it is in one. */
  remove(): void {
    this.list?.remove(this);
  }
}

/** Values in the order in which they came, from whose middle one is taken as quickly as from its ends. */
export class LinkedList<T> {
  #first: Link<T> | undefined;
  #last: Link<T> | undefined;
  #size = 0;

  get first(): Link<T> | undefined {
    return this.#first;
  }

  get size(): number {
    return this.#size;
  }

  /** Puts it at the end, and takes it out of the list in which it was. */
  push(link: Link<T>): void {
    link.remove();
    link.list = this;
    link.before = this.#last;
    if (this.#last) this.#last.after = link;
    else this.#first = link;
    this.#last = link;
    this.#size += 1;
  }

  remove(link: Link<T>): void {
    if (link.list !== this) return;
    if (link.before) link.before.after = link.after;
    else this.#first = link.after;
    if (link.after) link.after.before = link.before;
    else this.#last = link.before;
    link.list = link.before = link.after = undefined;
    this.#size -= 1;
  }
}
