import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { indexMore } from '../src/domain/audit/index/build.ts';
import { askAudit, type Asked } from '../src/domain/audit/reading/ask.ts';
import { sealAccount } from '../src/domain/audit/seal.ts';
import { suffixOf } from '../src/domain/records/audit-records.ts';
import { put } from '../src/domain/records/codec.ts';
import { KEYS } from '../src/domain/records/keys.ts';
import { expectAbsent, type Put, type Store } from '../src/store/port.ts';
import { openSqliteStore } from '../src/store/sqlite/sqlite-store.ts';
import { systemClock } from '../src/time/clock.ts';
import { median, withRange } from './median.ts';

/*
 * `npm run bench:audit`: the milliseconds of one page of an audit of two million entries (`BENCH_ENTRIES`) on SQLite, by
 * what is asked for, against the newest 50 entries without a question in the same run; the median of interleaved rounds.
 */

const ENTRIES = Number(process.env['BENCH_ENTRIES'] ?? 2_000_000);
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 11);
const WANTED_MS = 200;
const ACCOUNT = 'a'.repeat(16);
const PER_COMMIT = 100;
const EVERY_MS = 1000;
const BEGIN = Date.now() - ENTRIES * EVERY_MS - 3_600_000;
/** So many apps of a large fleet, whose daemons and owner fill the audit. */
const APPS = 1000;

function entryAt(index: number): Put {
  const at = BEGIN + index * EVERY_MS;
  const isRare = index % Math.floor(ENTRIES / 3) === 1;
  const appId = `app${String((index * 7919) % APPS).padStart(17, '0')}`;
  const key = KEYS.audit(ACCOUNT, at, index.toString(16).padStart(32, '0'));
  return put(key, {
    at,
    actor: isRare ? 'user:rare' : index % 3 === 0 ? 'key:n4c8r2w6y1z5' : `device:${appId}`,
    action: isRare ? 'member.removed' : (['app.created', 'app.enrolled', 'app.code_issued'][index % 3] ?? ''),
    appId,
    requestId: `r${index}`,
    detail: { from: 'pending' },
  });
}

/** As a service would have written it, and sealed it in blocks of 100. */
async function seed(store: Store): Promise<void> {
  for (let from = 0; from < ENTRIES; from += PER_COMMIT) {
    const write = Array.from({ length: Math.min(PER_COMMIT, ENTRIES - from) }, (_, at) => entryAt(from + at));
    const [first] = write;
    if (!first) return;
    const result = await store.commit({ expect: [expectAbsent(first.put)], write, quiet: true });
    if (result.outcome === 'conflict') throw new Error('the audit is there already');
    const due = { accountId: ACCOUNT, from: suffixOf(ACCOUNT, first.put), upTo: result.revision };
    await sealAccount({ store, clock: systemClock, fence: [] }, due);
  }
  for (let outcome = 'more'; outcome === 'more';) ({ outcome } = await indexMore({ store, fence: [] }, ACCOUNT));
}

async function timed(store: Store, asked: Asked): Promise<number> {
  const startedAt = performance.now();
  await askAudit(store, ACCOUNT, asked);
  return performance.now() - startedAt;
}

const newest = { order: 'desc', limit: 50 } as const;
const BASELINE = 'the newest 50 entries';
const QUESTIONS: readonly [string, Asked][] = [
  [BASELINE, newest],
  ['of a frequent action', { ...newest, action: 'app.created' }],
  ['of an app', { ...newest, appId: `app${'7'.padStart(17, '0')}` }],
  ['of a rare actor', { ...newest, actor: 'user:rare' }],
  ['of nobody', { ...newest, actor: 'key:nobody' }],
  ['of a rare action, oldest first', { order: 'asc', limit: 50, action: 'member.' }],
  [
    'of an hour in the middle',
    { ...newest, from: BEGIN + (ENTRIES / 2) * EVERY_MS, to: BEGIN + (ENTRIES / 2 + 3600) * EVERY_MS },
  ],
];

const data = mkdtempSync(join(tmpdir(), 'muster-bench-audit-'));
try {
  await using store = await openSqliteStore(join(data, 'audit.db'));
  const startedAt = performance.now();
  await seed(store);
  const seconds = (performance.now() - startedAt) / 1000;
  process.stderr.write(`${ENTRIES} entries and their index written in ${seconds.toFixed(0)} s\n`);
  const rounds = new Map(QUESTIONS.map(([name]) => [name, [] as number[]]));
  for (let round = -1; round < ROUNDS; round += 1) {
    for (const [name, asked] of QUESTIONS) {
      const ms = await timed(store, asked);
      // The first round compiles.
      if (round >= 0) rounds.get(name)?.push(ms);
    }
  }
  const base = rounds.get(BASELINE) ?? [];
  process.stdout.write(`| A page of ${ENTRIES} entries | ms | times ${BASELINE} |\n| --- | --- | --- |\n`);
  for (const [name, times] of rounds) {
    const missed = median(times) > WANTED_MS ? ` MISSED: ≤ ${WANTED_MS} ms` : '';
    const ratios = times.map((ms, at) => ms / (base[at] ?? ms));
    process.stdout.write(`| ${name} | ${withRange(times)}${missed} | ${median(ratios).toFixed(1)} |\n`);
  }
} finally {
  rmSync(data, { recursive: true, force: true });
}
