import { mkdtempSync, rmSync, watch } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { installCrds } from '../operated.ts';
import { ControlPlane } from './control-plane.ts';
import { isWanted, tellFailed, tellReady } from './shared-plane.ts';

/**
 * One control plane for all files that ask for it, started when the first of them does.
 * @public Vitest loads it by its path.
 */
export default function setup(project: TestProject): () => Promise<void> {
  const place = mkdtempSync(join(tmpdir(), 'muster-shared-plane-'));
  project.provide('controlPlane', place);
  let starting: Promise<ControlPlane | undefined> | undefined;
  const watcher = watch(place, () => {
    if (isWanted(place)) starting ??= start(place);
  });
  return async () => {
    watcher.close();
    await (await starting)?.[Symbol.asyncDispose]();
    rmSync(place, { recursive: true, force: true });
  };
}

async function start(place: string): Promise<ControlPlane | undefined> {
  try {
    const plane = await ControlPlane.start();
    await installCrds(plane);
    tellReady(place, plane);
    return plane;
  } catch (error) {
    tellFailed(place, error);
    return undefined;
  }
}
