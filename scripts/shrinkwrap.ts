import * as z from 'zod';

/*
 * The lock that the package @muster/muster carries (npm-shrinkwrap.json), so that an installation brings the very
 * dependencies that were tested, each by its checksum: those of the repository's lock without what only development
 * needs.
 */

const entry = z.looseObject({
  version: z.string().optional(),
  integrity: z.string().optional(),
  dev: z.boolean().optional(),
  link: z.boolean().optional(),
});
const lockSchema = z.looseObject({ packages: z.record(z.string(), entry) });

/** @throws Error where a dependency has no checksum */
export function shrinkwrap(
  lockText: string,
  manifest: Readonly<Record<'name' | 'version' | 'engines' | 'bin' | 'dependencies', unknown>>,
): object {
  const { packages } = lockSchema.parse(JSON.parse(lockText));
  const brought = Object.entries(packages).filter(
    ([place, { dev, link }]) => place.startsWith('node_modules/') && dev !== true && link !== true,
  );
  const without = brought.filter(([, { integrity }]) => integrity === undefined).map(([place]) => place);
  if (without.length > 0) throw new Error(`package-lock.json has no checksum of ${without.join(', ')}.`);
  const { name, version, engines, bin, dependencies } = manifest;
  const own = { name, version, dependencies, bin, engines };
  return { name, version, lockfileVersion: 3, requires: true, packages: { '': own, ...Object.fromEntries(brought) } };
}
