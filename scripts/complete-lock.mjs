/**
 * Completes package-lock.json after `npm install`: adds the entries of other platforms that npm left out.
 *
 * npm writes an optional platform package into the lock file only when the registry it asked could serve it. `npm ci`
 * then refuses the lock, because the parent lists packages that the lock does not know. Each missing entry is added
 * with its exact version and the platform that its name spells, so that `npm ci` accepts the lock everywhere and still
 * installs only what fits the machine. Then every entry without a checksum gets the one that the registry tells; those
 * that it does not serve are named, and test/repository/supply-chain.test.ts lists them. Run it after every change of
 * dependencies: `node scripts/complete-lock.mjs`.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import process from 'node:process';

const SYSTEMS = new Set([
  'aix',
  'android',
  'darwin',
  'freebsd',
  'linux',
  'netbsd',
  'openbsd',
  'openharmony',
  'sunos',
  'win32',
]);
const CPUS = { 'arm-eabi': 'arm', 'arm-gnueabihf': 'arm', 'arm-musleabihf': 'arm' };

/** The platform a package is for, read from the end of its name: `binding-linux-arm64-musl`, `win32-x64`. */
function platformOf(name) {
  const parts = name.split('/').at(-1).split('-');
  const at = parts.findIndex((part) => SYSTEMS.has(part));
  if (at < 0 || parts[at + 1] === undefined) return undefined;
  const rest = parts.slice(at + 1).join('-');
  const libc = rest.includes('musl') ? 'musl' : rest.includes('gnu') && !rest.includes('gnueabi') ? 'glibc' : undefined;
  return { os: [parts[at]], cpu: [CPUS[rest] ?? parts[at + 1]], ...(libc && { libc: [libc] }) };
}

const file = new URL('../package-lock.json', import.meta.url);
const lock = JSON.parse(readFileSync(file, 'utf8'));
let added = 0;

for (const parent of Object.values(lock.packages)) {
  for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
    const place = `node_modules/${name}`;
    const platform = platformOf(name);
    if (lock.packages[place] || !platform || !/^\d+\.\d+\.\d+/.test(version)) continue;
    lock.packages[place] = { version, ...platform, ...(parent.dev && { dev: true }), optional: true };
    added += 1;
  }
}

/** The checksum of a package's tarball, as the registry tells it; undefined where it does not serve that version. */
function integrityOf(name, version) {
  const { stdout } = spawnSync('npm', ['view', `${name}@${version}`, 'dist.integrity'], {
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  return /^sha512-\S+$/.exec(stdout.trim())?.[0];
}

let completed = 0;
for (const [place, entry] of Object.entries(lock.packages)) {
  // The workspaces lie in the repository itself.
  if (!place.startsWith('node_modules/') || entry.link || entry.integrity) continue;
  const integrity = integrityOf(place.split('node_modules/').at(-1), entry.version);
  if (integrity === undefined) console.warn(`no checksum: ${place} ${entry.version}`);
  else {
    const { version, ...rest } = entry;
    lock.packages[place] = { version, integrity, ...rest };
    completed += 1;
  }
}

lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
console.log(`package-lock.json: ${added} platform entries added, ${completed} checksums`);
