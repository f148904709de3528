import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { findCollector, NO_COLLECTOR } from '../../../support/opamp/peers.ts';
import { Pasted, putPrograms } from '../../../support/panel/pasted.ts';
import type { SeededAccount } from '../../../support/panel/seeded-panel.ts';
import { scratchDirectory } from '../../../support/run/scratch-directory.ts';
import { readApp } from '../../../support/service/daemon.ts';
import type { Muster } from '../../../support/service/muster.ts';
import { findChromium, NO_CHROMIUM } from '../../browser/chromium.ts';
import { openPage, openWorld, type PanelWorld } from '../panel-browser.ts';

/*
 * The commands of the dialog that adds a daemon, as they stand there, in a shell into which the code is typed: each
 * brings a daemon to the configuration, and none has the code in an argument. Those for Kubernetes are tried on an API
 * server (test/cluster/pasted).
 */

const chromium = findChromium();
const collector = findCollector();
const title = chromium === undefined ? `commands for daemons (skipped: ${NO_CHROMIUM})` : 'commands for daemons';

/**
 * Docker, as far as the commands use it: it tells its arguments, gives a volume a folder here, and runs what the image
 * would. A container that is left behind runs until its shell ends.
 */
const DOCKER = `#!/bin/sh
echo "$*" >> docker.said
left= volume=
shift
while [ "\${1#-}" != "$1" ]; do
  case $1 in
    -d) left=yes ;;
    -v) volume=\${2%%:*} at=\${2#*:}; shift ;;
    --name|--restart|--network) shift ;;
  esac
  shift
done
image=$1; shift
mkdir -p "$volume"
for word in "$@"; do
  shift
  case $word in "$at"/*) word="$volume\${word#"$at"}" ;; esac
  set -- "$@" "$word"
done
if [ -n "$left" ]; then muster "$@" & else exec muster "$@"; fi
`;

describe.skipIf(chromium === undefined)(title, () => {
  let world: PanelWorld | undefined;
  let muster: Muster;
  let account: SeededAccount;
  let page: Page;
  let folder: string;
  beforeAll(async () => {
    world = await openWorld(chromium, 1);
    ({ muster, account, page } = world);
  });
  afterAll(() => world?.[Symbol.asyncDispose]());
  beforeEach(() => {
    folder = scratchDirectory('muster-pasted');
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const dialog = () => page.getByRole('dialog');
  const milestones = () => dialog().locator('.milestones').innerText();

  /** Asks for a code, and reads what the tab shows. */
  async function offered(by: string): Promise<{ code: string; appId: string; commands: readonly string[] }> {
    // The page before may hold a dialog whose code is used.
    await page.goto('about:blank');
    await openPage(page, muster, `/accounts/${account.accountId}/apps?new=daemon&by=${by}`, /edge-001/);
    await dialog().getByLabel('Name').fill(`by ${by}`);
    await dialog().getByLabel('Name').press('Enter');
    const code = await dialog().locator('.secret code').innerText();
    const commands = await dialog().locator('pre.command').allInnerTexts();
    const appId = /muster-([a-z0-9]{20})/.exec(commands.join('\n'))?.[1] ?? '';
    expect(commands.filter((text) => text.includes('mst_'))).toEqual([]);
    return { code, appId, commands };
  }
  const paste = (text: string, line?: string): Pasted => new Pasted(text, { folder }, line);
  async function applied(running: Pasted): Promise<void> {
    await expect.poll(milestones, { message: running.said }).toContain('Configuration applied: revision');
  }
  async function ends(running: Pasted): Promise<string> {
    expect([await running.ended, running.said]).toEqual([0, running.said]);
    return running.said;
  }
  const isPrivate = (name: string): boolean => (statSync(join(folder, name)).mode & 0o077) === 0;

  test('Linux: the command enrolls, and goes on without a code', async () => {
    putPrograms(folder);
    const { code, appId, commands } = await offered('linux');
    const [first = '', again = ''] = commands;
    {
      await using running = paste(first, code);
      await applied(running);
      expect(running.said).toContain('Enrollment code: ');
      expect(readFileSync(join(folder, `muster-${appId}.yaml`), 'utf8')).toContain('https://otel.example.com:4318');
      expect(isPrivate(`muster-${appId}.credential`)).toBe(true);
    }
    await using later = paste(again);
    await expect.poll(() => later.said).toMatch(/Configuration \d+ is applied/);
  });

  test('Linux: a code that is refused says so, and the app goes on waiting', async () => {
    putPrograms(folder);
    const { appId, commands } = await offered('linux');
    await using running = paste(commands[0] ?? '', `mst_code_${'x'.repeat(49)}`);
    expect(await running.ended).not.toBe(0);
    expect(running.said).toMatch(/code/);
    expect(await readApp(muster, account.apiKey, appId)).toMatchObject({ status: 'pending' });
  });

  test('container: one enrolls with the volume, and the next one keeps running with it', async () => {
    putPrograms(folder, { docker: DOCKER });
    const { code, appId, commands } = await offered('container');
    expect(commands).toHaveLength(1);
    await using running = paste(commands[0] ?? '', code);
    await applied(running);
    await expect.poll(() => existsSync(join(folder, 'docker.said')) && said(folder).length).toBe(2);
    const [once = '', on = ''] = said(folder);
    expect(once).toContain(`run -i --rm -v muster-${appId}:/var/lib/muster --network host muster:`);
    expect(on).toContain(`run -d --name muster-${appId} --restart unless-stopped -v muster-${appId}:/var/lib/muster`);
    expect(once + on).not.toContain(code);
    expect(isPrivate(join(`muster-${appId}`, 'credential'))).toBe(true);
  });

  const opamp = `collector by OpAMP${collector ? '' : ` (skipped: ${NO_COLLECTOR})`}`;
  test.skipIf(collector === undefined)(
    `${opamp}: the supervisor starts its collector with the configuration`,
    async () => {
      if (!collector) return;
      putPrograms(folder, { opampsupervisor: collector.supervisor });
      const { code, commands } = await offered('opamp');
      // The collector of this machine has another name than those that the command looks for.
      const text = (commands[0] ?? '').replace('--opamp', `--executable ${collector.collector} --opamp`);
      await using running = paste(text, code);
      await applied(running);
      expect(running.said).not.toContain(code);
    },
  );

  test('own client: curl enrolls, polls and acknowledges, and a key creates the next app', async () => {
    const { code, appId, commands } = await offered('own');
    const [enroll = '', poll = '', acknowledge = '', api = ''] = commands;
    await ends(paste(enroll, code));
    await expect.poll(milestones).toContain('Enrolled');
    expect(isPrivate(`muster-${appId}.header`)).toBe(true);
    expect(readdirSync(folder)).toEqual([`muster-${appId}.header`]);
    expect(await ends(paste(poll))).toContain('https://otel.example.com:4318');
    await ends(paste(acknowledge));
    await expect.poll(milestones).toContain('Configuration applied: revision');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'muster-api-key.header'), `Authorization: Bearer ${account.apiKey}\n`, { mode: 0o600 });
    expect(await ends(paste(api))).toContain('"enrollCode":"mst_code_');
  });

  test('own client: a code that is refused leaves no header behind', async () => {
    const { appId, commands } = await offered('own');
    await using refused = paste(commands[0] ?? '', `mst_code_${'x'.repeat(49)}`);
    expect(await refused.ended).not.toBe(0);
    expect(refused.said).toContain('401');
    expect(existsSync(join(folder, `muster-${appId}.header`))).toBe(false);
  });
});

const said = (folder: string): readonly string[] =>
  readFileSync(join(folder, 'docker.said'), 'utf8').trimEnd().split('\n');
