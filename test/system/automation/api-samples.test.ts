import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { makeToken } from '../../support/panel/access-tokens/tokens.ts';
import { panelMuster, signedIn } from '../../support/panel/panel-users.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { MAIN } from '../../support/service/muster-command.ts';
import { OPERATOR_TOKEN, tenant } from '../../support/service/muster.ts';

/* Runs the samples of docs/API.md as a reader would: one after the other, in one shell, against a new service. */

const DOCUMENT = readFileSync(resolve(import.meta.dirname, '../../../docs/API.md'), 'utf8');
const SAMPLE = /^```sh\n([\s\S]*?)^```\n+^```text\n([\s\S]*?)^```$/gm;
const MARK = '--- the next sample ---';

const samples = [...DOCUMENT.matchAll(SAMPLE)].map(([, script = '', output = '']) => ({ script, output }));
const withoutTrailingSpace = (lines: string): string => lines.replaceAll(/[ \t]+$/gm, '').trim();

test('every sample of the shell has the output that stands below it', () => {
  expect(samples.length).toBe([...DOCUMENT.matchAll(/^```sh$/gm)].length);
  expect(samples.length).toBeGreaterThanOrEqual(7);
});

test('the samples print what the document says', async () => {
  const folder = scratchDirectory('samples');
  await using panel = await panelMuster();
  const { muster } = panel;
  try {
    const secret = (name: string, content: string): string => {
      writeFileSync(join(folder, name), `${content}\n`, { mode: 0o600 });
      return join(folder, name);
    };
    const command = join(folder, 'muster');
    writeFileSync(command, `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`, { mode: 0o700 });
    const { accountId, apiKey } = await tenant(muster);
    const person = await signedIn(panel.store, { accounts: [{ accountId, role: 'viewer' }] });
    secret('access-token', (await makeToken(panel, person, { accountId })).token);
    const env = {
      PATH: `${folder}:${process.env['PATH'] ?? ''}`,
      HOME: folder,
      ACCOUNT: accountId,
      PANEL: `http://127.0.0.1:${muster.service.panel.port}`,
      MUSTER_CLIENT_URL: muster.api,
      MUSTER_CLIENT_DEVICE_URL: muster.device,
      MUSTER_CLIENT_OPS_URL: muster.ops,
      MUSTER_CLIENT_API_KEY_FILE: secret('api-key', apiKey),
      MUSTER_CLIENT_OPERATOR_TOKEN_FILE: secret('operator-token', OPERATOR_TOKEN),
    };
    const script = samples.map(({ script }) => script).join(`\necho '${MARK}'\n`);
    const shell = spawn('bash', ['-euo', 'pipefail', '-c', script], {
      cwd: folder,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [output, [code]] = await Promise.all([text(shell.stdout), once(shell, 'exit') as Promise<[number]>]);
    expect(output.split(MARK).map(withoutTrailingSpace)).toEqual(
      samples.map(({ output }) => withoutTrailingSpace(output)),
    );
    expect(code).toBe(0);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
