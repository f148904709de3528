import { csvRow } from '../../../src/text/csv.ts';
import type { CreatedApp } from '../../api/panel.ts';
import { apps as texts } from '../../text/apps.ts';

/* The texts by which daemons enroll: lines of a shell, manifests of Kubernetes, a CSV. All of them hold secrets. */

/** An app whose daemon can enroll. `code` is a secret. */
export interface Enrollable {
  readonly appId: string;
  readonly name: string;
  readonly code: string;
}

/** The address of the device listener is not known to the page: who enrolls puts it there. */
const DEVICE = 'https://DEVICE-ADDRESS';

/* The code goes by standard input: arguments are seen by others. */

const byAgent = ({ appId, code }: Enrollable): string =>
  `printf '%s' '${code}' |\n` +
  `  muster agent run --app ${appId} --code-stdin --device-url ${DEVICE} \\\n` +
  `  --credential-file muster-${appId}.credential`;

const byCurl = ({ appId, code }: Enrollable): string =>
  `curl -sS --fail-with-body ${DEVICE}/device/v1/enroll -H 'Content-Type: application/json' --data @- <<'JSON'\n` +
  `${JSON.stringify({ appId, enrollCode: code, connection: 'cloud' })}\nJSON`;

/** The same keys as in the Secret that a FleetApp has written. */
const bySecret = ({ appId, code }: Enrollable): string =>
  [
    'apiVersion: v1',
    'kind: Secret',
    'metadata:',
    `  name: muster-${appId}`,
    'type: Opaque',
    'stringData:',
    `  appId: "${appId}"`,
    `  enrollCode: "${code}"`,
    `  serverUrl: ${DEVICE}`,
  ].join('\n');

const LINES = { agent: byAgent, curl: byCurl, secret: bySecret } as const;

/** A way to enroll. */
export type Way = keyof typeof LINES;
export const WAYS = Object.keys(LINES) as readonly Way[];

/** The name of the file in which the lines of a way are downloaded. */
export const fileOf = (way: Way): string => (way === 'secret' ? 'enrollment-secrets.yaml' : `enroll-by-${way}.sh`);

/** The lines for one app; for many, each under a comment with its name. */
export function linesFor(way: Way, apps: readonly Enrollable[]): string {
  const [only] = apps;
  if (apps.length === 1 && only) return LINES[way](only);
  const between = way === 'secret' ? '\n---\n' : '\n\n';
  const each = apps.map((app) => `${commentOf(app)}\n${LINES[way](app)}`).join(between);
  return `# ${texts.dialog.fileHead}\n\n${each}\n`;
}

/** A name has any characters: one that ends the line would end the comment. */
const commentOf = ({ appId, name }: Enrollable): string =>
  `# ${name.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ')} (${appId})`;

/** All codes as a CSV, with the columns of `muster apps create --save-codes`. */
export const csvOf = (created: readonly CreatedApp[]): string =>
  [
    csvRow(['number', 'name', 'appId', 'enrollCode', 'enrollCodeExpiresAt']),
    ...created.map(({ name, appId, enrollCode, enrollCodeExpiresAt }, index) =>
      csvRow([String(index + 1), name, appId, enrollCode, enrollCodeExpiresAt]),
    ),
    '',
  ].join('\r\n');
