import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadYaml } from '@kubernetes/client-node';
import { documentedValues, type ValueRow } from './chart-values.ts';

/** The width of the lines of values: `helm show readme` prints them into a terminal. */
const COLUMNS = 100;

const HEAD = `# Chart muster

<!-- Written by \`npm run docs\` from values.yaml. -->

Installs Muster on Kubernetes 1.30 or newer, with helm 3 or 4. The manual is
[docs/INSTALL.md](../../docs/INSTALL.md), and [examples](../../examples) has values to begin with.

\`\`\`sh
helm install muster charts/muster --namespace fleet --create-namespace --wait
\`\`\`

is a trial: one replica on the embedded store, with a volume. For production, name an etcd:

\`\`\`sh
helm install muster charts/muster --namespace fleet --create-namespace --wait \\
  --set store.type=etcd --set 'store.etcd.endpoints={https://etcd-0:2379,https://etcd-1:2379,https://etcd-2:2379}'
\`\`\`

## What it makes

- A Deployment for everything, or with \`split.enabled\` one each for the API, the devices and the controller; on SQLite
  with strategy \`Recreate\`, on etcd rolling, one pod more and none less.
- A Service for each listener. \`-api\`, \`-device\` and \`-panel\` may have an Ingress or a route of the Gateway API each;
  \`-ops\` is for the inside alone.
- A Secret with the operator's token and the key file, made once by a Job, unless \`secrets.existingSecret\` names one. It
  is no part of the release: neither an upgrade nor a rendering changes it.
- With \`operator.enabled\` the custom resource definitions, a ClusterRole for the operator and a Role in each of
  \`operator.namespaces\`, which alone reaches Secrets, ClusterRoles that add the kinds to \`view\`, \`edit\` and \`admin\`, and
  one for accounts, which is the platform team's.
- A NetworkPolicy: API, devices and panel are open, the ops listener is to the release's namespace and to
  \`networkPolicy.monitoringNamespace\` alone, and pods reach DNS, etcd, the API server and the panel's provider.
- A PodDisruptionBudget where there is more than one replica; an autoscaler, certificates of cert-manager, a monitor,
  rules and dashboards where you say so.

All pods pass Pod Security \`restricted\`, with a read-only root file system and the image's own user, or that of the
platform.

## Lists of your own

An entry of \`extraEnv\`, \`extraVolumes\` or \`extraVolumeMounts\` whose name or path the chart has takes the place of the
chart's. Variables that another object goes by, such as \`MUSTER_ROLES\`, are refused with the value to set instead, and
so is a name that stands twice in one list.

## As a part of another chart

\`global.imageRegistry\` and \`global.imagePullSecrets\` are taken over. Everything else lies under the name of the
dependency; a value that the chart does not know is refused, wherever it stands.

## Values

Each with its default, if it has one. \`{api,device}.port\` stands for \`api.port\` and \`device.port\`.
`;

/** The text of the chart's README.md, before it is formatted. */
export function chartReadme(chart: string): string {
  const text = readFileSync(join(chart, 'values.yaml'), 'utf8');
  const values = loadYaml<unknown>(text);
  const { rows } = documentedValues(text);
  const sections = Object.entries(Object.groupBy(rows, ({ path }) => (path.includes('.') ? firstOf(path) : '')));
  return [HEAD, ...sections.map(([section, rows = []]) => sectionOf(section, rows, values))].join('\n');
}

const firstOf = (path: string): string => path.split('.')[0] ?? '';

function sectionOf(section: string, rows: readonly ValueRow[], values: unknown): string {
  const below = section === '' ? '' : `${section}.`;
  const entries = rows.map((row) => ({
    path: row.path.slice(below.length).split('.'),
    words: `${defaultOf(values, row.path)}: ${row.says}`,
  }));
  const lines = joined(entries).map(({ path, words }) => wrapped(`\`${path.join('.')}\`${words}`));
  return `### ${section === '' ? 'At the top' : section}\n\n${lines.join('\n')}\n`;
}

function defaultOf(values: unknown, path: string): string {
  const value = path.split('.').reduce<unknown>((here, key) => fieldsOf(here)[key], values);
  return value === null || value === '' ? '' : ` \`${JSON.stringify(value).replaceAll(/^"|"$/g, '')}\``;
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? { ...value } : {};

interface Line {
  readonly path: readonly string[];
  readonly words: string;
}

/** Lines that differ in the first step of their path alone become one: `{api,device}.port`. */
function joined(lines: readonly Line[]): readonly Line[] {
  const alike = Map.groupBy(lines, ({ path, words }) => JSON.stringify([path.slice(1), words, path.length === 1]));
  return [...alike.values()].flatMap((group) => {
    const [{ path: [, ...rest], words } = { path: [], words: '' }] = group;
    if (rest.length === 0) return group;
    const names = group.map(({ path }) => path[0] ?? '');
    return [{ path: [names.length === 1 ? (names[0] ?? '') : `{${names.join(',')}}`, ...rest], words }];
  });
}

/** An item of a list, in lines of at most `COLUMNS`. */
function wrapped(text: string): string {
  const lines = [''];
  for (const word of text.split(' ')) {
    const last = lines.at(-1) ?? '';
    if (last !== '' && last.length + 1 + word.length > COLUMNS - 2) lines.push(word);
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  return `- ${lines.join('\n  ')}`;
}
