import { buildPages } from '../../../scripts/build-web.ts';

/**
 * The panel's pages, before the first test: a build empties their folder, and another file's service may be reading it.
 * @public Vitest loads it by its path.
 */
export default async function setup(): Promise<void> {
  await buildPages();
}
