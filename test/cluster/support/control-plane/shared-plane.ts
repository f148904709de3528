import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';
import { ApiAccess } from '../api-access.ts';
import { Authority } from '../node/authority.ts';
import { installCrds } from '../operated.ts';
import { ControlPlane } from './control-plane.ts';
import { eventually } from './program.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The file that describes the control plane which test files share; undefined where there is none. */
    controlPlane: string | undefined;
  }
}

const WANTED = 'wanted';
const READY = 'ready';
const FAILED = 'failed';

export const isWanted = (place: string): boolean => existsSync(join(place, WANTED));

/** Tells those who wait in `sharedPlane`. */
export function tellReady(place: string, { directory, server }: ApiAccess): void {
  writeFileSync(join(place, 'new'), JSON.stringify({ directory, server }));
  renameSync(join(place, 'new'), join(place, READY));
}

/** Tells those who wait in `sharedPlane`. */
export function tellFailed(place: string, error: unknown): void {
  writeFileSync(join(place, FAILED), String(error));
}

/**
 * A control plane with the custom resources' definitions, which other files use as well: a test has namespaces of its
 * own there, gives what lies in none a name of its own, and stops nothing.
 */
export async function sharedPlane(): Promise<ApiAccess> {
  const place = inject('controlPlane');
  if (place !== undefined) return await joined(place);
  const own = await ControlPlane.start();
  await installCrds(own);
  return own;
}

async function joined(place: string): Promise<ApiAccess> {
  writeFileSync(join(place, WANTED), '');
  const [ready, failed] = [join(place, READY), join(place, FAILED)];
  await eventually('the shared control plane to be ready', () => {
    if (existsSync(failed)) throw new Error(`there is no shared control plane: ${readFileSync(failed, 'utf8')}`);
    return existsSync(ready);
  });
  const { directory, server } = JSON.parse(readFileSync(ready, 'utf8')) as Pick<ApiAccess, 'directory' | 'server'>;
  return new ApiAccess(directory, new Authority(directory), server);
}
