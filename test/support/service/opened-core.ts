import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../../src/config/config.ts';
import { createLog } from '../../../src/log.ts';
import { openCore, type CoreOptions } from '../../../src/service/core.ts';
import { createDomainServices, type Core, type DomainServices } from '../../../src/service/domain-services.ts';
import type { Backend } from '../store/backends.ts';
import { until } from '../time/until.ts';
import { KEY_FILE_TEXT, OPERATOR_TOKEN } from './muster.ts';

export interface OpenedCore extends AsyncDisposable {
  readonly core: Core;
  readonly domain: DomainServices;
}

/**
 * Opens the core of a service, without listeners and loops, on a store that is empty at first. Its deadlines are those
 * of a real one where none are given.
 */
export async function openedCore(
  backend: Pick<Backend, 'place'>,
  { deadlines, wrapStore }: Pick<CoreOptions, 'deadlines' | 'wrapStore'> = {},
): Promise<OpenedCore> {
  const dataDir = mkdtempSync(join(tmpdir(), 'muster-'));
  const keyFile = join(dataDir, 'keys');
  writeFileSync(keyFile, KEY_FILE_TEXT, { mode: 0o600 });
  const { store, env: place } = backend.place();
  const config = readConfig({
    MUSTER_DATA_DIR: dataDir,
    MUSTER_KEY_FILE: keyFile,
    MUSTER_OPERATOR_TOKEN: OPERATOR_TOKEN,
    ...(store !== undefined && { MUSTER_STORE: store }),
    ...place,
  });
  const opened = new AsyncDisposableStack();
  const replaced = { ...(deadlines && { deadlines }), ...(wrapStore && { wrapStore }) };
  const core = await openCore({ config, log: createLog('silent'), ...replaced }, opened);
  await until(() => core.fleet.memory.whole);
  return {
    core,
    domain: createDomainServices(core),
    async [Symbol.asyncDispose]() {
      await opened.disposeAsync();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
