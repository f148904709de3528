import { expect, test } from 'vitest';
import { LIMITS } from '../../../../src/domain/limits.ts';
import { csvRows } from '../../../../src/text/csv-rows.ts';
import { HOUR_MS } from '../../../../src/time/utc-days.ts';
import { ask, panelMuster, signedIn, type Browser, type PanelMuster } from '../../../support/panel/panel-users.ts';
import { asOperator } from '../../../support/panel/visitor.ts';
import { tenant } from '../../../support/service/muster.ts';
import { busyHours } from '../../../support/store/audit-entries.ts';
import { onEachBackend } from '../../../support/store/backends.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

/* P16: an audit as a file, as the filters of its page say. */

const COLUMNS = ['at', 'action', 'actor', 'actorName', 'target', 'targetName', 'requestId', 'detail'];

interface Exported {
  readonly status: number;
  readonly type: string | null;
  readonly file: string | null;
  readonly text: string;
}

async function exported(panel: PanelMuster, by: Browser, path: string, query: string): Promise<Exported> {
  const { status, headers, text } = await ask(panel, by, `${path}/audit/export?${query}`);
  return { status, type: headers.get('content-type'), file: headers.get('content-disposition'), text };
}

const rowsOf = (text: string): string[][] => [...csvRows(text)].map(({ fields }) => [...fields]);
const linesOf = (text: string): Record<string, unknown>[] =>
  text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Record<string, unknown>]));

async function account(panel: PanelMuster) {
  const { accountId } = await tenant(panel.muster);
  const role = (name: 'owner' | 'viewer', shown: string) =>
    signedIn(panel.store, { name: shown, accounts: [{ accountId, role: name }] });
  return {
    accountId,
    path: `/accounts/${accountId}`,
    owner: await role('owner', 'Ötzi'),
    viewer: await role('viewer', 'V'),
  };
}

onEachBackend('an audit as a file', (backend) => {
  test('has each entry with names and ids, in UTC, and no name that is a formula; the audit tells of it', async () => {
    const clock = new FakeClock(Date.parse('2026-03-04T05:06:07.089Z'));
    await using panel = await panelMuster(backend, { clock });
    const { accountId, path, owner, viewer } = await account(panel);
    const names = ['=HYPERLINK("http://x.example")', '+1', '-1', '@x', '\t=1', '\r=1', 'a "quoted", name', 'plain'];
    for (const name of names) {
      expect((await ask(panel, owner, `${path}/apps`, { method: 'POST', body: { name } })).status).toBe(201);
    }
    const csv = await exported(panel, viewer, path, 'action=app.&format=csv');
    expect(csv).toMatchObject({
      status: 200,
      type: 'text/csv; charset=utf-8; header=present',
      file: 'attachment; filename="audit-2026-03-04.csv"',
    });
    const [head, ...rows] = rowsOf(csv.text);
    expect(head).toEqual(COLUMNS);
    const shown = ['\'=HYPERLINK("http://x.example")', "'+1", "'-1", "'@x", "'=1", "'=1", 'a "quoted", name', 'plain'];
    expect(rows.map((row) => row[5])).toEqual(shown.toReversed());
    for (const row of rows) {
      expect(row.slice(0, 4)).toEqual([
        expect.stringMatching(/^2026-03-04T05:06:07\.\d{3}Z$/),
        'app.created',
        `user:${owner.userId}`,
        'Ötzi',
      ]);
      expect(row[4]).toMatch(/^app:[a-z0-9]{20}$/);
    }
    const jsonl = await exported(panel, viewer, path, 'action=app.&format=jsonl');
    expect([jsonl.type, jsonl.file]).toEqual(['application/x-ndjson', 'attachment; filename="audit-2026-03-04.jsonl"']);
    const listed = await ask(panel, viewer, `${path}/audit?action=app.&limit=200`);
    expect(linesOf(jsonl.text)).toEqual(listed.body['entries']);

    const told = await asOperator(panel.muster, '/audit');
    expect(told.body['entries']).toMatchObject([
      { action: 'audit.exported', actor: `user:${viewer.userId}`, detail: { accountId } },
      { action: 'audit.exported', actor: `user:${viewer.userId}`, detail: { accountId } },
    ]);
  });

  test('goes on behind the first page to the end, whoever filters; what is left out is told in the last line', async () => {
    const clock = new FakeClock(Date.now());
    await using panel = await panelMuster(backend, { clock });
    const { accountId, path, owner } = await account(panel);
    // They are committed after those of the account, and are later.
    const entries = await busyHours(panel.store, accountId, { hours: 12, now: clock.now() + 13 * HOUR_MS });
    const all = rowsOf((await exported(panel, owner, path, '')).text);
    expect(all).toHaveLength(1 + entries + 2);
    const instants = all.slice(1).map(([at = '']) => Date.parse(at));
    expect(instants).toEqual(instants.toSorted((one, other) => other - one));
    const some = linesOf((await exported(panel, owner, path, 'actor=key:somebody&format=jsonl')).text);
    expect(some).toHaveLength(entries);
    expect((await exported(panel, owner, path, 'actor=key:nobody&format=jsonl')).text).toBe('');

    const second = await signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] });
    // The first page is charged as the export is, and each further one as a change.
    const change = async () =>
      (await ask(panel, second, `${path}/apps/${'a'.repeat(20)}`, { method: 'DELETE' })).status;
    const changes = Array.from({ length: LIMITS.panelRequestsPerMinute - 2 }, change);
    expect(new Set(await Promise.all(changes))).toEqual(new Set([404]));
    const cut = rowsOf((await exported(panel, second, path, '')).text);
    expect(cut.length).toBeLessThan(all.length);
    expect(cut.at(-1)).toEqual(['', 'cut', '', '', '', '', '', expect.stringContaining('Too many requests')]);
    expect((await exported(panel, second, path, '')).status).toBe(429);
  });

  test('is for those who may read it, as the service’s own is for operators', async () => {
    await using panel = await panelMuster(backend);
    const { path, viewer } = await account(panel);
    const stranger = await signedIn(panel.store);
    const operator = await signedIn(panel.store, { operator: true });
    expect((await exported(panel, stranger, path, '')).status).toBe(404);
    expect((await exported(panel, viewer, '', '')).status).toBe(403);
    expect((await exported(panel, operator, path, 'format=xlsx')).status).toBe(400);
    const service = await exported(panel, operator, '', 'format=jsonl');
    expect([service.status, linesOf(service.text)]).toEqual([200, []]);
    expect(linesOf((await exported(panel, operator, '', 'format=jsonl')).text)).toMatchObject([
      { action: 'audit.exported', actor: `user:${operator.userId}` },
    ]);
  });
});
