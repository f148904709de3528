import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { KEYS } from '../../src/domain/records/keys.ts';
import type { Store } from '../../src/store/port.ts';
import { scratchDirectory } from '../support/run/scratch-directory.ts';
import { entriesOf } from '../support/service/accounts.ts';
import { Muster, tenant } from '../support/service/muster.ts';
import { onEachBackend } from '../support/store/backends.ts';
import { until } from '../support/time/until.ts';

/* MUSTER_AUDIT_LOG, of a service as it runs. */

const folder = scratchDirectory('audit-log');
afterAll(() => rmSync(folder, { recursive: true }));

interface Line {
  readonly message: string;
  readonly unmapped: { readonly entry: string; readonly event: { readonly type: string } };
}

const linesIn = (path: string): readonly Line[] =>
  existsSync(path)
    ? readFileSync(path, 'utf8')
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as Line)
    : [];

onEachBackend('the audit in a file', (backend) => {
  test('has every entry in the order of the commits, over a rotation and the end of a leader', async () => {
    const path = join(folder, `${backend.name}.jsonl`);
    const place = backend.place();
    const dataDir = join(folder, backend.name);
    mkdirSync(dataDir);
    const stores: Store[] = [];
    const start = (): Promise<Muster> => {
      const env = { ...place.env, MUSTER_AUDIT_LOG: path };
      const wrapStore = (store: Store): Store => {
        stores.push(store);
        return store;
      };
      return Muster.start({ ...place, dataDir, env, wrapStore });
    };
    const prefix = KEYS.audit.under();
    const ordered = async (): Promise<string[]> => {
      const store = stores.at(-1);
      const entries = store ? await entriesOf(store, prefix) : [];
      const sorted = entries.toSorted((a, b) => a.revision - b.revision || (a.key < b.key ? -1 : 1));
      return sorted.map(({ key }) => key.slice(prefix.length));
    };
    const written = (): readonly string[] => linesIn(path).map(({ unmapped: { entry } }) => entry);
    let before: readonly Line[] = [];
    {
      await using muster = await start();
      await tenant(muster);
      await until(async () => written().length === (await ordered()).length);
      expect(linesIn(path).map(({ unmapped: { event } }) => event.type)).toEqual(['account.created', 'key.created']);
      // The lines are there before they are noted.
      const series = async (): Promise<string> => await (await fetch(`${muster.ops}/metrics`)).text();
      await until(async () => /^muster_audit_log_lag_seconds 0$/m.test(await series()));
      expect(await series()).toMatch(/^muster_audit_log_lines_total 2$/m);
      before = linesIn(path);
      renameSync(path, `${path}.1`);
      await tenant(muster);
      await until(() => written().length >= 1);
    }
    await using next = await start();
    await tenant(next);
    const all = await ordered();
    await until(() => {
      const [lines, last] = [written(), all.at(-1)];
      return last !== undefined && lines.includes(last);
    });
    const there = [...before.map(({ unmapped: { entry } }) => entry), ...written()];
    expect([...new Set(there)]).toEqual(all);
  });
});
