import { describedVariables, type Described } from '../src/config/described.ts';

const HEAD = `# Configuration

<!-- Written by \`npm run docs\` from src/config/environment.ts. -->

The service is configured by its environment. It refuses to start with a wrong value, and names the variable and the rule,
never the value. A variable that is empty counts as not set. \`muster doctor\` checks a configuration without starting the
service; those of the command line's client are in [CLI.md](CLI.md), and the service reads none of them. Every file that a
variable names is read at the start and again every 10 s, by [one rule](OPERATIONS.md#files-and-their-rotation).
The Helm chart sets these variables from its [values](../charts/muster/README.md). Beside them the role
\`kubernetes\` reads \`KUBECONFIG\`, a file or a list of files, as kubectl does; without it the service account of the pod counts.
A \`tokenFile\` in it is read again every 10 s.
`;

/** The text of docs/CONFIGURATION.md, before it is formatted. */
export function configurationDocument(): string {
  const sections = Object.entries(Object.groupBy(describedVariables(), ({ section }) => section));
  return [HEAD, ...sections.map(([title, variables = []]) => section(title, variables))].join('\n');
}

function section(title: string, variables: readonly Described[]): string {
  return [
    `## ${title}\n`,
    ['Variable', 'Default', 'Meaning', 'Rule'],
    ['---', '---', '---', '---'],
    ...variables.map(rowOf),
    '',
  ]
    .map((cells) => (typeof cells === 'string' ? cells : `| ${cells.join(' | ')} |`))
    .join('\n');
}

const rowOf = ({ name, default: value, unset, meaning, rule }: Described): readonly string[] => [
  `\`${name}\``,
  value === undefined ? unset : `\`${value}\``,
  meaning,
  rule,
];
