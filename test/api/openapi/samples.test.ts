import { execFile } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { API_NAMES, operationsOf, pointerPart, readDocument, type ApiName } from '../../support/openapi/documents.ts';
import { Schemas } from '../../support/openapi/schemas.ts';
import { ROOT } from '../../support/repository/source-tree.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { createApp, enroll, Muster, OPERATOR_TOKEN, tenant } from '../../support/service/muster.ts';

/* One sample of each document, run as it stands against a service, with the variables that it names. */

const run = promisify(execFile);
const CLIENT = pathToFileURL(join(ROOT, 'clients/typescript/src/index.ts')).href;
/** The client by the name under which others install it: the sources in place of its build. */
const RESOLVED = `import { registerHooks } from 'node:module';
registerHooks({
  resolve: (name, context, next) => (name === '@muster/client' ? { url: '${CLIENT}', shortCircuit: true } : next(name, context)),
});`;

let muster: Muster;
let env: Record<string, string>;
const folder = scratchDirectory('samples');

beforeAll(async () => {
  muster = await Muster.start();
  const { apiKey } = await tenant(muster);
  const credential = await enroll(muster, await createApp(muster, apiKey));
  env = {
    PATH: process.env['PATH'] ?? '',
    MUSTER_CLIENT_URL: muster.api,
    MUSTER_CLIENT_DEVICE_URL: muster.device,
    MUSTER_CLIENT_OPS_URL: muster.ops,
    MUSTER_CLIENT_API_KEY_FILE: secret('api-key', apiKey),
    MUSTER_CREDENTIAL_FILE: secret('credential', credential),
    MUSTER_CLIENT_OPERATOR_TOKEN_FILE: secret('operator-token', OPERATOR_TOKEN),
  };
});
function secret(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, `${text}\n`, { mode: 0o600 });
  return path;
}
afterAll(async () => {
  await muster[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

const SAMPLES: readonly (readonly [api: ApiName, id: string, status: string])[] = [
  ['v1', 'createApp', '201'],
  ['v1', 'storeOtelConfig', '200'],
  ['device', 'pollConfig', '200'],
  ['operator', 'createAccount', '201'],
];

test.each(SAMPLES)('curl: %s, %s', async (name, id, status) => {
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', sampleOf(name, id, 'curl')], { env, cwd: folder });
  expect(faultOf(name, id, status, JSON.parse(stdout))).toBeUndefined();
});

test.each(SAMPLES)('TypeScript: %s, %s', async (name, id, status) => {
  const file = join(folder, `${id}.mts`);
  writeFileSync(file, `${sampleOf(name, id, 'TypeScript')}\nconsole.log(JSON.stringify(answer));\n`);
  const hooks = `data:text/javascript,${encodeURIComponent(RESOLVED)}`;
  const { stdout } = await run(process.execPath, ['--import', hooks, file], { env });
  const answer = JSON.parse(stdout) as Record<string, unknown>;
  // The client gives the tag and whether there was a change beside the body of a poll.
  const body = id === 'pollConfig' ? answer['config'] : answer;
  expect(faultOf(name, id, status, body)).toBeUndefined();
});

test('no sample of curl has a secret among its arguments', () => {
  const samples = API_NAMES.flatMap((name) =>
    operationsOf(readDocument(name)).map(({ operation }) => sampleOf(name, operation.operationId, 'curl')),
  );
  expect(samples.length).toBeGreaterThan(30);
  expect(samples.filter((sample) => /-H "?Authorization|-d .*(?:mst_|authHeader|enrollCode)/.test(sample))).toEqual([]);
});

test('no sample enrolls with a credential that everybody knows', () => {
  const { source = '' } = placeOf('device', 'enrollDevice').operation['x-codeSamples'][0] ?? {};
  expect(source).toContain('"enrollCode"');
  expect(source).not.toContain('credentialHash');
});

const placeOf = (name: ApiName, id: string) => {
  const found = operationsOf(readDocument(name)).find(({ operation }) => operation.operationId === id);
  if (!found) throw new Error(`${name} has no ${id}.`);
  return found;
};

function sampleOf(name: ApiName, id: string, label: string): string {
  const sample = placeOf(name, id).operation['x-codeSamples'].find((one) => one.label === label);
  if (!sample) throw new Error(`${id} has no sample for ${label}.`);
  return sample.source;
}

function faultOf(name: ApiName, id: string, status: string, body: unknown): string | undefined {
  const { path, method } = placeOf(name, id);
  const at = `/paths/${pointerPart(path)}/${method}/responses/${status}/content/application~1json/schema`;
  return new Schemas(readDocument(name), 'closed').faultOf(at, body);
}
