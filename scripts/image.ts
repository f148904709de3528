import { mkdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import process from 'node:process';
import { findTool, TOOLS, type ContainerTool } from './container-tool.ts';
import { exitWith, readToolArguments, UsageError } from './tool-arguments.ts';

/*
 * `npm run image [-- --with docker|podman|buildah] [-- ARGUMENTS]` builds deploy/Dockerfile by the first tool that
 * answers, under the name that the chart's defaults have, saves it to dist-image, and says what to do next. ARGUMENTS,
 * behind another `--`, go to the tool's own `build`. The tools' variables (DOCKER_HOST, CONTAINERS_STORAGE_CONF and
 * their like) say where the image is kept.
 */

const ROOT = resolve(import.meta.dirname, '..');
const USAGE = `npm run image [-- --with ${TOOLS.join('|')}] [-- ARGUMENTS]`;
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { readonly version: string };
const NAME = `muster:${version}`;
/** The full name that a node gives to NAME, which names no registry. */
const FULL_NAME = `docker.io/library/${NAME}`;
const ARCHIVE = join(ROOT, `dist-image/muster-${version}.tar`);

exitWith(USAGE, () => {
  const { wanted, further, positionals, plainHttp, release } = readToolArguments(process.argv.slice(2));
  const { base, key, transparencyLog } = release;
  if (positionals.length > 0 || plainHttp || transparencyLog || (base ?? key) !== undefined)
    throw new UsageError('Nothing is pushed: npm run publish-release does that.');
  const tool = findTool(wanted);
  process.stderr.write(`Building ${NAME} by ${tool.name}.\n`);
  // podman and buildah keep a name without a registry as localhost/…, which a node does not look for.
  tool.build({ root: ROOT, names: tool.name === 'docker' ? [NAME] : [NAME, FULL_NAME], further });
  save(tool);
  process.stdout.write(nextSteps(tool));
});

/** Only a whole archive gets the name. */
function save(tool: ContainerTool): void {
  const unfinished = `${ARCHIVE}.unfinished`;
  mkdirSync(dirname(ARCHIVE), { recursive: true });
  rmSync(unfinished, { force: true });
  tool.save(tool.name === 'docker' ? NAME : FULL_NAME, unfinished);
  renameSync(unfinished, ARCHIVE);
}

function nextSteps(tool: ContainerTool): string {
  const archive = relative(process.cwd(), ARCHIVE);
  const megabytes = Math.round(statSync(ARCHIVE).size / 1e6);
  return `${NAME} is built by ${tool.name} (${tool.inspect(NAME).id}), and saved as ${archive} (${megabytes} MB).

Load it into the nodes of the cluster:
  kind       kind load image-archive ${archive}
  k3d        k3d image import ${archive}
  minikube   minikube image load ${archive}
or, for any other cluster, push image and chart to a registry that its nodes reach:
  npm run publish-release -- REGISTRY

Then install it:
  helm install muster charts/muster --namespace fleet --create-namespace --wait

docs/INSTALL.md has each way from the beginning.
`;
}
