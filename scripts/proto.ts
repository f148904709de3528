import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import process from 'node:process';

/*
 * `npm run proto` writes src/opamp/generated from src/opamp/opamp.proto; test/opamp/messages.test.ts holds them equal.
 * The compiler has 120 MiB and is needed when the file changes, so it is fetched then and is no dependency.
 */

const ROOT = resolve(import.meta.dirname, '..');
const PACKAGES = ['@bufbuild/buf@1.75.0', '@bufbuild/protoc-gen-es@2.17.0'];

const TEMPLATE = {
  version: 'v2',
  inputs: [{ directory: 'src/opamp' }],
  plugins: [
    {
      local: 'protoc-gen-es',
      out: 'src/opamp/generated',
      // Node strips types: it takes no enum, and imports need their extension.
      opt: ['target=ts', 'import_extension=ts', 'erasable_syntax=true'],
    },
  ],
};

const command = ['buf', 'generate', '--template', JSON.stringify(TEMPLATE)];
const packages = PACKAGES.map((name) => `--package=${name}`);
const { status, error } = spawnSync('npm', ['exec', '--yes', ...packages, '--', ...command], {
  cwd: ROOT,
  stdio: 'inherit',
});
if (error) throw error;
process.exitCode = status ?? 1;
