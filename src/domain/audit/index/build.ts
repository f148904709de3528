import { expectUnchanged, type Expectation, type Store, type Write } from '../../../store/port.ts';
import type { AuditIndexPageRecord, AuditIndexRecord, SealRecord } from '../../records/audit-records.ts';
import { BadRecord, parseRecord, put, type Versioned } from '../../records/codec.ts';
import { KEYS } from '../../records/keys.ts';
import { readBlocks, readNamed } from '../blocks.ts';
import { readChain } from '../seal.ts';
import { indexPage, readIndex } from './find.ts';
import { lastBlockOf, OpenPage, UNREADABLE, type DescribedBlock } from './page.ts';
import { termsOf } from './terms.ts';

/*
 * The index of an audit goes along its chain: block by block, from the oldest one. The leader alone writes it, and may
 * be stopped anywhere: blocks that no page describes are read themselves.
 */

/** Entries and blocks that one step describes at most; a step reads blocks whole. */
const STEP_ENTRIES = 500;
const STEP_BLOCKS = 100;
/** Pages that one commit removes. */
const PAGES_PER_COMMIT = 100;
/** A page has a byte for the number of entries of a block; the service seals fewer. */
const BLOCK_ENTRIES_MAX = 255;

export interface IndexDeps {
  readonly store: Store;
  /** The fence of the leader's term: every commit expects it. */
  readonly fence: readonly Expectation[];
}

/** The result of a step. */
export interface Indexed {
  readonly entries: number;
  /** `conflict` where another process was faster, or leads now; `more` where another step may follow. */
  readonly outcome: 'more' | 'whole' | 'conflict';
}

/**
 * Describes the next blocks of an account's chain, up to five hundred entries. An index that is of another chain, as a
 * store may have that somebody put together, or that lacks blocks which are gone by now, is removed and begun anew.
 * @throws StoreUnavailable; BadRecord where the chain is not what was written: nothing of it is described then
 */
export async function indexMore(deps: IndexDeps, accountId: string): Promise<Indexed> {
  const { store, fence } = deps;
  const index = await readIndex(store, accountId);
  const { record: chain } = await readChain(store, accountId);
  const head = index.record;
  if (head && (head.block < chain.base.number || head.block > chain.number)) return await drop(deps, accountId);
  const before = head?.block ?? chain.base.number;
  const to = Math.min(chain.number, before + STEP_BLOCKS);
  const found = await readBlocks(store, accountId, Math.max(1, before), to);
  const { base } = chain;
  // The last block that is described shows whether the index is of this chain.
  const digest = before === base.number ? base.digest : found.find(({ number }) => number === before)?.digest;
  if (head && digest !== undefined && digest !== head.digest) return await drop(deps, accountId);
  if (before === chain.number) return { entries: 0, outcome: 'whole' };
  const blocks = linked(
    found.filter(({ number }) => number > before),
    { block: before, digest },
  );
  const [first] = blocks;
  if (!first) throw new BadRecord(`The audit chain of ${accountId} is broken at block ${before + 1}.`);
  const described = await describe(store, accountId, blocks);
  const pages = await pagesFor(store, accountId, head, described);
  const end = blocks.at(-1) ?? first;
  const last = Math.max(...pages.keys());
  const next: AuditIndexRecord = {
    ...head,
    first: head?.first ?? 1,
    last,
    block: end.number,
    digest: end.digest,
  };
  const result = await store.commit({
    expect: [expectUnchanged(index), ...Array.from(pages.values(), expectUnchanged), ...fence],
    write: [
      put(KEYS.auditIndex(accountId), next),
      ...Array.from(pages, ([number, { record }]) => put(KEYS.auditIndexPage(accountId, number), record)),
    ],
    quiet: true,
  });
  if (result.outcome === 'conflict') return { entries: 0, outcome: 'conflict' };
  const entries = described.reduce((sum, one) => sum + one.terms.length, 0);
  return { entries, outcome: end.number < chain.number ? 'more' : 'whole' };
}

/** Those of a chain that follow each other, as many as one step describes. */
function linked(
  found: readonly SealRecord[],
  { block, digest }: { readonly block: number; readonly digest: string | undefined },
): readonly SealRecord[] {
  const blocks: SealRecord[] = [];
  let before: { readonly number: number; readonly digest: string | undefined } = { number: block, digest };
  let entries = 0;
  for (const next of found) {
    if (next.number !== before.number + 1 || next.previous !== before.digest) break;
    entries += next.entries.length;
    if (next.entries.length > BLOCK_ENTRIES_MAX || (blocks.length > 0 && entries > STEP_ENTRIES)) break;
    blocks.push(next);
    before = next;
  }
  return blocks;
}

async function describe(
  store: Store,
  accountId: string,
  blocks: readonly SealRecord[],
): Promise<readonly DescribedBlock[]> {
  const names = blocks.flatMap(({ entries }) => entries.map(([name]) => name));
  const found = await readNamed(store, accountId, names);
  const termsOfName = (name: string): readonly string[] => {
    const entry = found.get(name);
    // One that was removed is found by nobody.
    if (!entry) return [];
    try {
      return termsOf(accountId, parseRecord(KEYS.audit, entry).record);
    } catch (error) {
      if (!(error instanceof BadRecord)) throw error;
      return [UNREADABLE];
    }
  };
  return blocks.map((block) => ({ block, terms: block.entries.map(([name]) => termsOfName(name)) }));
}

/** The pages that describe further blocks: the newest one, where it has room, and new ones. */
async function pagesFor(
  store: Store,
  accountId: string,
  head: AuditIndexRecord | undefined,
  described: readonly DescribedBlock[],
): Promise<ReadonlyMap<number, Versioned<AuditIndexPageRecord>>> {
  const read = async (number: number): Promise<Versioned<AuditIndexPageRecord | undefined>> =>
    indexPage(accountId, number, await store.get(KEYS.auditIndexPage(accountId, number)));
  const pages = new Map<number, { readonly found: Versioned<unknown>; readonly open: OpenPage }>();
  let number = head?.last ?? 0;
  const newest = number > 0 ? await read(number) : undefined;
  // A page that does not end where the index does is passed over: its blocks are read themselves.
  const goesOn = newest?.record && head && lastBlockOf(newest.record) === head.block;
  let open = goesOn && newest.record ? OpenPage.of(newest.record) : undefined;
  if (newest && open) pages.set(number, { found: newest, open });
  let newestYet = open?.newestYet ?? (head ? Number.MAX_SAFE_INTEGER : 0);
  for (const one of described) {
    if (open?.add(one)) continue;
    if (open) ({ newestYet } = open);
    number += 1;
    open = new OpenPage(one.block.number, newestYet);
    open.add(one);
    pages.set(number, { found: await read(number), open });
  }
  return new Map(Array.from(pages, ([at, page]) => [at, { ...page.found, record: page.open.record() }]));
}

/** Removes pages of an index from its oldest on, and the index itself with the last of them. */
async function drop(deps: IndexDeps, accountId: string): Promise<Indexed> {
  const removed = await removePages(deps, accountId, () => true);
  return { entries: 0, outcome: removed === 0 ? 'conflict' : 'more' };
}

/**
 * Removes the pages whose blocks are all gone, the oldest hundred at most.
 * @returns how many are gone; a leader that describes more at the same moment is faster: then none
 * @throws StoreUnavailable; BadRecord where the head of the chain cannot be read
 */
export async function cutIndex(deps: IndexDeps, accountId: string): Promise<number> {
  const { base } = (await readChain(deps.store, accountId)).record;
  return await removePages(deps, accountId, (page) => page === undefined || lastBlockOf(page) <= base.number);
}

async function removePages(
  { store, fence }: IndexDeps,
  accountId: string,
  isGone: (page: AuditIndexPageRecord | undefined) => boolean,
): Promise<number> {
  const index = await readIndex(store, accountId);
  const head = index.record;
  if (!head) return 0;
  const write: Write[] = [];
  let { first } = head;
  for (; first <= head.last && write.length < PAGES_PER_COMMIT; first += 1) {
    const key = KEYS.auditIndexPage(accountId, first);
    if (!isGone(indexPage(accountId, first, await store.get(key)).record)) break;
    write.push({ remove: key });
  }
  // A head that somebody changed may name no page at all.
  if (write.length === 0 && head.first <= head.last) return 0;
  const key = KEYS.auditIndex(accountId);
  const result = await store.commit({
    expect: [expectUnchanged(index), ...fence],
    write: [...write, first > head.last ? { remove: key } : put(key, { ...head, first })],
    quiet: true,
    writeClass: 'vital',
  });
  return result.outcome === 'conflict' ? 0 : Math.max(1, write.length);
}
