import { expect, test } from 'vitest';
import { LIMITS } from '../../../src/domain/limits.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { ask, panelMuster, rewrite, signedIn } from '../../support/panel/panel-users.ts';
import { tokenOf } from '../../support/panel/visitor.ts';
import { tenant } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';

const MOST = LIMITS.invitationNoteCodePointsMax;

onEachBackend('the note of an invitation', (backend) => {
  test('stands in the list of owners alone, is bounded, and is text', async () => {
    await using panel = await panelMuster(backend);
    const { accountId } = await tenant(panel.muster);
    const owner = await signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] });
    const viewer = await signedIn(panel.store, { accounts: [{ accountId, role: 'viewer' }] });
    const path = `/accounts/${accountId}/invitations`;
    const invite = (body: object) => ask(panel, owner, path, { method: 'POST', body: { role: 'viewer', ...body } });
    const notes = async () =>
      ((await ask(panel, owner, path)).body['invitations'] as { note: string }[]).map(({ note }) => note).toSorted();

    const hostile = '<img src=x onerror=alert(1)>';
    const longest = '\u{1F600}'.repeat(MOST);
    const made = await invite({ note: hostile });
    expect([made.status, (await invite({ note: longest })).status, (await invite({})).status]).toEqual([201, 201, 201]);
    expect(await notes()).toEqual(['', hostile, longest]);
    for (const note of [`${longest}a`, 'turns\u202Eround', 'two\nlines', 7, null]) {
      expect((await invite({ note })).status).toBe(400);
    }
    expect((await ask(panel, viewer, path)).status).toBe(403);
    const token = tokenOf(made.body['url']);
    const read = await ask(panel, undefined, '/links/read', { method: 'POST', body: { token } });
    expect([read.status, read.text.includes('onerror')]).toEqual([200, false]);
  });

  test('is empty for one that was made before there were notes', async () => {
    await using panel = await panelMuster(backend);
    const { accountId } = await tenant(panel.muster);
    const owner = await signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] });
    const path = `/accounts/${accountId}/invitations`;
    await ask(panel, owner, path, { method: 'POST', body: { role: 'viewer', note: 'for Bob' } });
    const { entries } = await panel.store.list({ prefix: KEYS.link.under(accountId), limit: 2 });
    await rewrite(panel, entries[0]?.key ?? '', (record) => ({ ...record, note: undefined }));
    expect((await ask(panel, owner, path)).body['invitations']).toMatchObject([{ role: 'viewer', note: '' }]);
  });
});
