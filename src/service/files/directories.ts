import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

const isDirectory = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/**
 * Makes a directory, and those above it, for their owner alone; one that is there stays as it is. They are made one by
 * one: with `recursive`, Node never returns where a file system says ENOENT to each, as /proc does.
 * @throws the system's error, with its code and path
 */
export function makeDirectories(path: string): void {
  const directory = resolve(path);
  if (isDirectory(directory)) return;
  const above = dirname(directory);
  if (statSync(above, { throwIfNoEntry: false }) === undefined) makeDirectories(above);
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    // Another process may have made it just now.
    if (!isDirectory(directory)) throw error;
  }
}
