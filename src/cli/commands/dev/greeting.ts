import { join, resolve } from 'node:path';
import { DEMO_KEY_FILE } from '../../connection/connection.ts';
import type { Secret } from '../../../domain/credentials/secret.ts';
import type { Urls } from '../../connection/service-urls.ts';
import { shellWord } from '../../../text/shell-words.ts';

const field = (name: string): string => `sed 's/.*"${name}":"\\([^"]*\\)".*/\\1/'`;

/**
 * Three lines for any POSIX shell, to be pasted one after the other: each leaves the values that the next one needs.
 */
function curlLines({ api, device }: Urls, apiKey: string): readonly [string, string, string] {
  const poll = `curl -sS ${device}/device/v1/config -H "Authorization: Bearer $CREDENTIAL"; echo`;
  const enrollment = `'{"appId":"'$APP_ID'","enrollCode":"'$CODE'","platform":"linux","agentVersion":"1.0.0","connection":"cloud"}'`;
  const otel = `'{"enabled":true,"endpoint":"https://otel.example.com","authHeader":"Bearer collector-secret"}'`;
  return [
    `KEY=${apiKey}; APP=$(curl -sS -X POST ${api}/v1/apps -H "Authorization: Bearer $KEY" -d '{"name":"first daemon"}'); echo "$APP"`,
    `APP_ID=$(echo "$APP" | ${field('appId')}); CODE=$(echo "$APP" | ${field('enrollCode')}); ` +
      `CREDENTIAL=$(curl -sS -X POST ${device}/device/v1/enroll -d ${enrollment} | ${field('credential')}); ${poll}`,
    `curl -sS -X PUT ${api}/v1/otel-config -H "Authorization: Bearer $KEY" -d ${otel}; echo; ${poll}`,
  ];
}

/** The same in the words of the command: an app, a collector, and the daemon that follows it until Ctrl-C. */
const musterLines = (greeted: Pick<Greeted, 'muster' | 'dataDir'>): readonly [string, string, string] => [
  `${evalLine(greeted)}; APP=$(${greeted.muster} apps create --name 'first daemon' --save-codes first.code -o id)`,
  `${greeted.muster} otel set --endpoint https://otel.example.com`,
  `${greeted.muster} agent run --app $APP --code-file first.code --credential-file first.credential --otel-config first.yaml`,
];

/** Another terminal in the same folder looks for the data where it is by default. */
function evalLine({ muster, dataDir }: Pick<Greeted, 'muster' | 'dataDir'>): string {
  const option = dataDir === resolve('.muster') ? '' : ` --data-dir ${shellWord(dataDir)}`;
  return `eval "$(${muster} env${option})"`;
}

export interface Greeted {
  readonly urls: Urls;
  readonly apiKey: string;
  /** As an absolute path. */
  readonly dataDir: string;
  /** How the command `muster` is called here. */
  readonly muster: string;
  /** The shell that the next commands are written for: the one that has the command, or any with curl. */
  readonly steps: 'muster' | 'curl';
  /** How many simulated daemons the service has to begin with. */
  readonly agents: number;
  /** The address of the panel; absent where it is off. */
  readonly panel?: string | undefined;
  /** The link for the first operator, a secret; absent where there is one, or the panel is for other machines too. */
  readonly firstLink?: Secret | undefined;
}

const FLEET = (count: number): string =>
  `\n${count} simulated daemons enroll and poll; their owner changes the configuration, and replaces one now and then.\n`;

/** The first words for a newcomer: where everything is, and the next commands to type. */
export function greeting(greeted: Greeted): string {
  const { urls, apiKey, dataDir, steps, agents, panel } = greeted;
  const withCurl = steps === 'curl';
  return `
Muster is running; its data lies in ${dataDir}.

  API        ${urls.api}      accounts and automation
  devices    ${urls.device}      daemons
  operator   ${urls.ops}      probes, metrics, accounts and keys${panel === undefined ? '' : `\n  panel      ${panel}      for people, in a browser`}
  API key    ${withCurl ? apiKey : `in ${join(dataDir, DEMO_KEY_FILE)}`}
${firstSignIn(greeted)}
Paste these one after the other in another terminal${withCurl ? '' : ', in the same folder'}.

${withCurl ? curlSteps(greeted) : musterSteps(greeted)}
${agents === 0 ? '' : FLEET(agents)}
Ctrl-C ends it.
`;
}

/** Whoever opens the link becomes the first operator, so it stands on the terminal alone. */
function firstSignIn({ firstLink }: Greeted): string {
  if (!firstLink) return '';
  return `
Open this within ten minutes to become the first operator of the panel; it works once:

${firstLink.reveal()}
`;
}

function musterSteps(greeted: Greeted): string {
  const [create, configure, run] = musterLines(greeted);
  return `1. Let the command find this service, and create an app:

${create}

2. Set the collector for the fleet:

${configure}

3. Enroll as its daemon, and follow the configuration in first.yaml:

${run}`;
}

function curlSteps(greeted: Greeted): string {
  const [create, enroll, configure] = curlLines(greeted.urls, greeted.apiKey);
  return `1. Create an app:

${create}

2. Enroll as its daemon, and poll for the configuration:

${enroll}

3. Set the collector for the fleet, and see it arrive with the next poll:

${configure}

In the same folder, the command \`${greeted.muster}\` finds this service after

${evalLine(greeted)}`;
}
