import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import process from 'node:process';
import * as z from 'zod';

/*
 * The bills of materials (CycloneDX 1.5) of the package of npm and of the image. npm writes the dependencies of the
 * package; what is added here is what npm does not know: the packages whose files the build takes in, and the base of
 * the image. Debian's packages in the base are not listed: a scanner of images reads those.
 */

/** Packages of development whose files are in what is published: the pages and the reference page. */
export const SHIPPED = ['@simplewebauthn/browser', 'preact', 'swagger-ui-dist', 'uplot'] as const;

const component = z.looseObject({ 'bom-ref': z.string(), name: z.string(), version: z.string() });
const bomSchema = z.looseObject({
  bomFormat: z.literal('CycloneDX'),
  metadata: z.looseObject({ component }),
  components: z.array(component),
  dependencies: z.array(z.looseObject({ ref: z.string(), dependsOn: z.array(z.string()) })),
});
type Bom = z.infer<typeof bomSchema>;

export const parseBom = (text: string): Bom => bomSchema.parse(JSON.parse(text));

const locked = z.looseObject({ version: z.string(), integrity: z.string(), license: z.string() });
const lockSchema = z.looseObject({ packages: z.record(z.string(), z.unknown()) });

/**
 * The bill of the package.
 * @param folder with package.json and npm-shrinkwrap.json
 * @param lockText the repository's lock, which has what the build takes in
 */
export function packageBom(folder: string, lockText: string): Bom {
  const args = ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx'];
  const shell = process.platform === 'win32';
  const bom = parseBom(execFileSync('npm', args, { cwd: folder, encoding: 'utf8', shell, maxBuffer: 1 << 26 }));
  const { component: own } = bom.metadata;
  const { packages } = lockSchema.parse(JSON.parse(lockText));
  const shipped = SHIPPED.map((name) => shippedComponent(name, locked.parse(packages[`node_modules/${name}`])));
  return {
    ...bom,
    metadata: { ...bom.metadata, component: { ...own, name: own['bom-ref'].replace(/@[^@]*$/, '') } },
    components: [...bom.components, ...shipped],
    dependencies: [
      ...bom.dependencies.map((one) =>
        one.ref === own['bom-ref'] ? { ...one, dependsOn: [...one.dependsOn, ...shipped.map(refOf)] } : one,
      ),
      ...shipped.map((one) => ({ ref: refOf(one), dependsOn: [] })),
    ],
  };
}

const refOf = (one: { readonly 'bom-ref': string }): string => one['bom-ref'];

function shippedComponent(name: string, { version, integrity, license }: z.infer<typeof locked>) {
  return {
    'bom-ref': `${name}@${version}`,
    type: 'library',
    name,
    version,
    scope: 'required',
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    hashes: [{ alg: 'SHA-512', content: Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex') }],
    licenses: [{ license: { id: license } }],
  };
}

/** An image as a registry holds it. */
export interface HeldImage {
  /** With its registry and without a tag. */
  readonly name: string;
  readonly digest: string;
}

/** The bill of the image: that of the package, and the base that the image was built on. */
export function imageBom(bom: Bom, image: HeldImage & { readonly version: string }, base: HeldImage): Bom {
  const own = { ...containerComponent(image), version: image.version };
  const under = containerComponent(base);
  const { component: program } = bom.metadata;
  return {
    ...bom,
    serialNumber: `urn:uuid:${randomUUID()}`,
    metadata: { ...bom.metadata, component: own },
    components: [program, ...bom.components, under],
    dependencies: [
      { ref: own['bom-ref'], dependsOn: [program['bom-ref'], under['bom-ref']] },
      ...bom.dependencies,
      { ref: under['bom-ref'], dependsOn: [] },
    ],
  };
}

function containerComponent({ name, digest }: HeldImage) {
  const purl = `pkg:oci/${name.split('/').at(-1)}@${encodeURIComponent(digest)}?repository_url=${encodeURIComponent(name)}`;
  const hashes = [{ alg: 'SHA-256', content: digest.replace('sha256:', '') }];
  return { 'bom-ref': purl, type: 'container', name, version: digest, purl, hashes };
}
