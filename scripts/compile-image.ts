import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';

/*
 * `node scripts/compile-image.ts FOLDER`: a step of deploy/Dockerfile. It starts Muster and ends it, so that Node keeps
 * in the folder what it compiles at a start, and opens the folder to all readers. Node takes it up again only under the
 * same path, with the same version, and as the same user: as root, this makes it for the user of the image. What is
 * loaded later, as the client of Kubernetes, is left out: its thousand small files would be a third of the folder.
 */

const USER = 65532;

const [name = ''] = process.argv.slice(2);
if (name === '') throw new Error('name the folder: node scripts/compile-image.ts FOLDER');
const folder = resolve(name);
const dataDir = mkdtempSync(join(tmpdir(), 'muster-compile-'));
const isRoot = process.getuid?.() === 0;
const options: SpawnOptions = {
  ...(isRoot && { uid: USER, gid: 0 }),
  env: {
    NODE_COMPILE_CACHE: folder,
    MUSTER_DATA_DIR: dataDir,
    MUSTER_API_LISTEN: '127.0.0.1:0',
    MUSTER_DEVICE_LISTEN: '127.0.0.1:0',
    MUSTER_OPS_LISTEN: '127.0.0.1:0',
    MUSTER_PANEL_LISTEN: 'off',
  },
  stdio: ['ignore', 'pipe', 'inherit'],
};

async function ended(child: ChildProcess): Promise<void> {
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  if (code !== 0) throw new Error(`${child.spawnargs.join(' ')} ended with ${code ?? signal}`);
}

/** Serves until all listeners are open. */
async function serveOnce(): Promise<void> {
  const child = spawn(process.execPath, ['bin/muster.mjs', 'serve'], options);
  const end = ended(child);
  if (child.stdout) {
    for await (const line of createInterface({ input: child.stdout })) {
      if (line.includes('muster is listening')) child.kill('SIGTERM');
    }
  }
  await end;
}

mkdirSync(folder);
try {
  if (isRoot) for (const path of [folder, dataDir]) chownSync(path, USER, 0);
  await serveOnce();
  const kept = readdirSync(folder, { recursive: true, withFileTypes: true });
  for (const entry of kept) {
    const path = join(entry.parentPath, entry.name);
    chmodSync(path, entry.isDirectory() ? 0o755 : 0o644);
    if (isRoot) chownSync(path, 0, 0);
  }
  if (isRoot) chownSync(folder, 0, 0);
  if (!kept.some((entry) => entry.isFile())) throw new Error(`Node has kept nothing in ${folder}`);
} finally {
  rmSync(dataDir, { recursive: true });
}
