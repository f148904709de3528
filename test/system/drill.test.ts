import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { describe, expect, test } from 'vitest';
import { findEtcd } from '../support/etcd/etcd-binary.ts';
import { findPrometheus } from '../support/monitoring/prometheus-binary.ts';
import { guard } from '../support/run/guard.ts';
import { scratchDirectory } from '../support/run/scratch-directory.ts';
import { until } from '../support/time/until.ts';

/* `npm run drill` in a shell that is set for an installation, and stopped in the middle. */

const PROGRAM = resolve(import.meta.dirname, '../../drill/main.ts');
const RUNBOOK = resolve(import.meta.dirname, '../../drill/runbook.ts');
/** A replica that read them would not start, or would not be the drill's. */
const OF_AN_INSTALLATION = {
  MUSTER_STORE_ID: 'of-an-installation',
  MUSTER_OPERATOR_TOKEN_FILE: '/of-an-installation',
  ETCDCTL_ENDPOINTS: 'https://of-an-installation:2379',
  ETCD_NAME: 'of-an-installation',
  ETCD_DATA_DIR: '/of-an-installation',
  KUBECONFIG: '/of-an-installation',
};

/** The environments of the processes that have this text in theirs. */
function environmentsWith(text: string): string[] {
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      const environment = readFileSync(`/proc/${pid}/environ`, 'utf8');
      return environment.includes(text) ? [environment] : [];
    } catch {
      // It has ended, or is somebody else's.
      return [];
    }
  });
}

describe.skipIf(!findEtcd() || !findPrometheus() || process.platform !== 'linux')('a drill', () => {
  test.each([
    ['SIGINT', /^Fault: /, 'where all of it runs', 130],
    ['SIGTERM', /^store-down: /, 'where nothing runs yet', 143],
  ] as const)('that %s ends after %s (%s) leaves no process and no file', async (signal, line, _, code) => {
    const folder = scratchDirectory('drill');
    try {
      const child = spawn(process.execPath, [PROGRAM, 'store-down'], {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { ...process.env, ...OF_AN_INSTALLATION, TMPDIR: folder },
      });
      guard(child);
      const ended = once(child, 'exit');
      const output = createInterface({ input: child.stdout });
      await new Promise<void>((found, failed) => {
        output.on('line', (said) => line.test(said) && found());
        output.once('close', () => failed(new Error('It ended before it said so.')));
      });
      const replicas = environmentsWith(folder).filter((each) => each.includes('MUSTER_API_LISTEN='));
      if (signal === 'SIGINT') expect(replicas).toHaveLength(2);
      for (const each of replicas) expect(each).not.toContain('of-an-installation');
      child.kill(signal);
      expect(await ended).toEqual([code, null]);
      await until(() => environmentsWith(folder).length === 0);
      expect(readdirSync(folder)).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test('a command of the runbook, and what it started, ends with the drill', async () => {
    const folder = scratchDirectory('drill');
    const main = `
      import { run } from ${JSON.stringify(RUNBOOK)};
      process.once('SIGINT', () => process.exit(130));
      await run('echo > "$LOGS/begun"; sleep 600; true', { logs: ${JSON.stringify(folder)} });
    `;
    try {
      const child = spawn(process.execPath, ['--input-type=module', '--eval', main], { stdio: 'inherit' });
      guard(child);
      const ended = once(child, 'exit');
      await until(() => readdirSync(folder).includes('begun') && environmentsWith(folder).length >= 2);
      child.kill('SIGINT');
      expect(await ended).toEqual([130, null]);
      await until(() => environmentsWith(folder).length === 0);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
