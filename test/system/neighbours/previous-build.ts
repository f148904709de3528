import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { toolsFolder } from '../../support/run/tools-folder.ts';

const ROOT = join(import.meta.dirname, '../../..');
const LANDING = join(import.meta.dirname, '../previous-landing');
const ARCHIVE_BYTES_MAX = 256 * 1024 * 1024;

interface Previous {
  readonly commit: string;
  /** Why it cannot be had in this clone, and what to do; undefined where it can. */
  readonly missing: string | undefined;
}

/** The commit whose build runs beside this one: `MUSTER_TEST_PREVIOUS`, or the one that `previous-landing` names. */
export function previousLanding(): Previous {
  const named = process.env['MUSTER_TEST_PREVIOUS'] || readFileSync(LANDING, 'utf8').trim();
  const found = git('rev-parse', '--verify', '--quiet', `${named}^{commit}`);
  if (found.status === 0) return { commit: found.stdout.trim(), missing: undefined };
  if (git('rev-parse', 'HEAD').status !== 0) return { commit: named, missing: 'this is no clone of the repository' };
  const isShallow = git('rev-parse', '--is-shallow-repository').stdout.trim() === 'true';
  const missing = isShallow
    ? `this clone is shallow and lacks ${named}: run git fetch --unshallow`
    : `this clone lacks ${named}: run git fetch, or name another commit by MUSTER_TEST_PREVIOUS`;
  return { commit: named, missing };
}

export const isAncestor = (commit: string): boolean => git('merge-base', '--is-ancestor', commit, 'HEAD').status === 0;

const git = (...words: readonly string[]): { status: number | null; stdout: string } =>
  spawnSync('git', ['-C', ROOT, ...words], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });

/**
 * Lays the commit's tree into the cache of the tools, once.
 * @returns its folder, with the packages that it needs
 */
export function laidBuild(commit: string): string {
  const versions = join(toolsFolder(), 'versions');
  const folder = join(versions, commit);
  if (!existsSync(folder)) {
    mkdirSync(versions, { recursive: true });
    // It is renamed when it is complete: a folder that was cut off keeps a name that nothing reads.
    const staging = mkdtempSync(join(versions, '.laying-'));
    const archive = execFileSync('git', ['-C', ROOT, 'archive', commit], { maxBuffer: ARCHIVE_BYTES_MAX });
    execFileSync('tar', ['-x', '-C', staging], { input: archive });
    moveInto(staging, folder);
  }
  providePackages(folder, versions);
  return folder;
}

/** Links the packages of this checkout where the locked ones are the same; else installs those of the commit. */
function providePackages(folder: string, versions: string): void {
  const modules = join(folder, 'node_modules');
  const own = realpathSync(join(ROOT, 'node_modules'));
  const found = lstatSync(modules, { throwIfNoEntry: false });
  if (found?.isDirectory() === true) return;
  const isLocked = (root: string): string => readFileSync(join(root, 'package-lock.json'), 'utf8');
  const staging = mkdtempSync(join(versions, '.laying-'));
  if (isLocked(folder) === isLocked(ROOT)) {
    if (found && readlinkSync(modules) === own) return rmSync(staging, { recursive: true });
    // The link of another checkout is replaced at once, so that a process that starts meanwhile finds either.
    symlinkSync(own, join(staging, 'node_modules'));
  } else {
    for (const name of ['package.json', 'package-lock.json']) {
      execFileSync('cp', [join(folder, name), join(staging, name)]);
    }
    execFileSync('npm', ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund'], {
      cwd: staging,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    if (found) rmSync(modules);
  }
  renameSync(join(staging, 'node_modules'), modules);
  rmSync(staging, { recursive: true });
}

/** Another run may have been faster: then its folder is taken. */
function moveInto(staging: string, folder: string): void {
  try {
    renameSync(staging, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
    rmSync(staging, { recursive: true });
  }
}
