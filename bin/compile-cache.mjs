/**
 * Where what Node has compiled of this program is kept between two runs of the command: a folder of the user's own, as
 * the XDG Base Directory Specification has it.
 */
import { mkdirSync, statSync } from 'node:fs';
import module from 'node:module';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import process from 'node:process';

const WRITABLE_BY_OTHERS = 0o022;

/** A relative path in the variable is none, says the specification. */
function folder() {
  const told = process.env.XDG_CACHE_HOME ?? '';
  return join(isAbsolute(told) ? told : join(homedir(), '.cache'), 'muster', 'compile-cache');
}

/** Others could put code of theirs into a folder that is not the user's alone, or is that of another user. */
function isOwn({ uid, mode }) {
  return process.platform === 'win32' || (uid === process.getuid() && (mode & WRITABLE_BY_OTHERS) === 0);
}

/**
 * Makes the folder where the nearest one above it is the user's own. @returns whether it is there, and the user's own
 */
function made(path) {
  const status = statSync(path, { throwIfNoEntry: false });
  if (status !== undefined) return isOwn(status);
  if (dirname(path) === path || !made(dirname(path))) return false;
  // One by one: with `recursive`, Node never returns where a file system says ENOENT to each, as /proc does.
  mkdirSync(path, { mode: 0o700 });
  return true;
}

/** Lets Node take over what an earlier run has compiled. Without a folder to write to, all goes on without it. */
export function keepCompiled() {
  // NODE_COMPILE_CACHE names another folder; Node uses that one already.
  if (process.env.NODE_COMPILE_CACHE || process.env.NODE_DISABLE_COMPILE_CACHE) return;
  try {
    const path = folder();
    if (made(path)) module.enableCompileCache(path);
  } catch {
    // A read-only file system, a user without a home, another process that makes the folder just now.
  }
}
