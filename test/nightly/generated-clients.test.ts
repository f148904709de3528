import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { scratchDirectory } from '../support/run/scratch-directory.ts';
import { call, Muster, OPERATOR_TOKEN } from '../support/service/muster.ts';
import { findGenerator } from './generators.ts';

/*
 * The documents give working clients by the usual generators: the commands of docs/API.md are run as they stand there,
 * and a program written for each client walks with it through a real service.
 */

const ROOT = resolve(import.meta.dirname, '../..');
const WALKS = join(import.meta.dirname, 'walks');
const SECTION = /^### Python and Go$(.*?)^## /ms.exec(readFileSync(join(ROOT, 'docs/API.md'), 'utf8'))?.[1] ?? '';
const COMMANDS = [...SECTION.matchAll(/^```\n(.*?)^```$/gms)].map(([, commands = '']) => commands);

/** What both walks print when nothing surprises them. */
const STEPS = [
  'operator: created an account',
  'operator: created an API key that does not expire',
  'stranger: 401 invalid_key',
  'owner: created an app',
  'owner: created it again by the same Idempotency-Key, and got the same code',
  'owner: has one app, which is pending',
  'device: enrolled',
  'device: the code is used up: 401 invalid_code',
  'owner: set the configuration',
  'device: polled: 200 with the configuration',
  'device: polled by its tag: 304',
  'device: acknowledged',
  'operator: the rollout is complete',
  'owner: the app is active',
  'owner: revoked the app',
  'device: polled: 401 invalid_credential',
  'operator: the audit tells of it',
];

/** What the service has in the audit of the account afterwards. */
const ACTIONS = [
  'account.created',
  'app.created',
  'app.enrolled',
  'app.revoked',
  'enrollment.refused',
  'key.created',
  'otel.stored',
];

const LANGUAGES = {
  python: {
    generate: 'openapi-python-client generate',
    files: ['walk.py'],
    build: undefined,
    walk: ['python3', 'walk.py'],
    // A type of answer that the generator does not know: the call is there, and gives the bytes.
    warnings: ['GET /operator/v1/backup within keys_and_backups.'],
  },
  go: {
    generate: 'oapi-codegen -generate',
    files: ['walk.go', 'go.mod', 'go.sum'],
    build: ['go', 'build', '-mod=readonly', '-o', 'walk', '.'],
    walk: ['./walk'],
    warnings: [],
  },
} as const;

for (const language of ['python', 'go'] as const) {
  const { bin, note } = findGenerator(language);
  const { generate, files, build, walk, warnings } = LANGUAGES[language];

  test.skipIf(bin === undefined)(
    `a client for ${language} is generated as docs/API.md says, and walks${note}`,
    async () => {
      const folder = scratchDirectory(`client-${language}`);
      try {
        const commands = COMMANDS.filter((block) => block.includes(generate));
        expect(commands).toHaveLength(1);
        cpSync(join(ROOT, 'docs/openapi'), join(folder, 'docs/openapi'), { recursive: true });
        mkdirSync(join(folder, 'muster'));
        for (const file of files) cpSync(join(WALKS, file), join(folder, file));
        const run = runIn(folder, environmentOf(bin ?? ''));

        const generated = await run(['sh', '-euc', commands.join('')]);
        expect([...generated.matchAll(/^(?:WARNING|ERROR|Error) parsing (.*)$/gm)].map(([, what]) => what)).toEqual(
          warnings,
        );
        expect(generated).not.toMatch(/Skipping Integration|Traceback/);
        if (build) await run(build);

        await using muster = await Muster.start();
        const tokenFile = join(folder, 'operator-token');
        writeFileSync(tokenFile, `${OPERATOR_TOKEN}\n`, { mode: 0o600 });
        const walked = await run(walk, {
          MUSTER_CLIENT_URL: muster.api,
          MUSTER_CLIENT_DEVICE_URL: muster.device,
          MUSTER_CLIENT_OPS_URL: muster.ops,
          MUSTER_CLIENT_OPERATOR_TOKEN_FILE: tokenFile,
          NO_PROXY: '127.0.0.1',
          no_proxy: '127.0.0.1',
        });
        process.stdout.write(walked);
        expect(walked.trimEnd().split('\n')).toEqual(STEPS);
        expect(await auditedActions(muster)).toEqual(ACTIONS);
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
  );
}

/** What the service says that was done, in the order of the alphabet: a step must not only be told. */
async function auditedActions(muster: Muster): Promise<string[]> {
  const accounts = `${muster.ops}/operator/v1/accounts`;
  const listed = (await call(accounts, { token: OPERATOR_TOKEN })).body['accounts'] as { accountId: string }[];
  expect(listed).toHaveLength(1);
  const audit = await call(`${accounts}/${listed[0]?.accountId}/audit`, { token: OPERATOR_TOKEN });
  return (audit.body['entries'] as { action: string }[]).map(({ action }) => action).sort();
}

const environmentOf = (bin: string): NodeJS.ProcessEnv => ({
  ...process.env,
  PATH: [bin, process.env['PATH'] ?? ''].join(delimiter),
  // Where pip has laid the generator for Python, with what its clients import.
  PYTHONPATH: dirname(bin),
});

/** Runs commands there. @returns what they print; a command that fails throws it */
function runIn(folder: string, env: NodeJS.ProcessEnv) {
  return async (words: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<string> => {
    const [command = '', ...rest] = words;
    const { stdout, stderr } = await promisify(execFile)(command, rest, {
      cwd: folder,
      env: { ...env, ...more },
      maxBuffer: 2 ** 26,
    });
    return `${stdout}${stderr}`;
  };
}
