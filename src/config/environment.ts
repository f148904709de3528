import * as z from 'zod';
import { labelSelector, namespacedName, namespaces, scope, secretTemplateText } from './kubernetes-names.ts';
import { egressVariables, listen, ranges, store } from './addresses.ts';
import { boundVariables } from './listeners.ts';
import { opampVariables } from './opamp.ts';
import { panelVariables } from './panel-variables.ts';
import { DATA_DIR, directory, file, integer, output, words } from './rules.ts';

/*
 * Every variable that the service reads, with its rule, its default and its description. `npm run docs` writes
 * docs/CONFIGURATION.md from them; `config.ts` makes the typed tree. A default stands here as it would stand in the
 * environment. The message of a rule is also the rule's text in the document, and never repeats the rejected value,
 * which may be a secret that was pasted into the wrong variable.
 */

const ROLES = ['api', 'device', 'controller', 'kubernetes'] as const;
/** A part of the service that a process may run (`MUSTER_ROLES`). */
export type Role = (typeof ROLES)[number];

const roles = z.string().transform((value, ctx): ReadonlySet<Role> => {
  const named = value.split(',');
  const known = ROLES.filter((role) => named.includes(role));
  if (known.length > 0 && known.length === named.length) return new Set(known);
  ctx.addIssue(`must be some of ${ROLES.join(',')}`);
  return z.NEVER;
});

const currency = z
  .string()
  .refine((code) => Intl.supportedValuesOf('currency').includes(code), 'must be a currency of ISO 4217, as in EUR');

const TOKEN_CHARACTERS_MIN = 32;
/** One operator token, in the variable or on a line of the file. */
export const operatorToken = z
  .string()
  .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces')
  .min(TOKEN_CHARACTERS_MIN, `must have at least ${TOKEN_CHARACTERS_MIN} characters`)
  .max(1024);

const storeVariables = {
  MUSTER_STORE: store.optional().meta({
    unset: '`sqlite:` in the data directory',
    description:
      'The store. `sqlite:PATH` is the embedded one, for a single process: the path of a file, never `:memory:`, a `file:` ' +
      'URI or one with `?` or `~`. `etcd:URL,URL,…` names the members of an ' +
      'etcd that replicas share; their URLs are all `http://HOST:PORT` or all `https://HOST:PORT`.',
  }),
  MUSTER_DATA_DIR: directory.prefault(DATA_DIR).meta({
    description: 'Holds the embedded store, and the operator token and the key file that it generates for itself.',
  }),
  MUSTER_STORE_ID: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,128}$/, 'must be 1 to 128 characters of A-Z a-z 0-9 . _ -')
    .optional()
    .meta({
      unset: 'a start takes the store that it finds',
      description:
        'The id of the store, as `muster doctor` shows it. A start on an empty store, or on one with another id, is ' +
        'refused: a lost volume does not pass for a new installation. `muster init-store` makes a new store with it.',
    }),
  MUSTER_KEY_FILE: file.optional().meta({
    unset: 'embedded: generated as `keys` in the data directory; etcd: required',
    description:
      'The file of key-encryption keys: lines `N:<base64 of 32 bytes>`; a lone base64 line is key 1. A ' +
      'file without a key that is in use is not taken. In a new store the greatest N is the active key; a rotation chooses another one.',
  }),
};

const etcdVariables = {
  MUSTER_ETCD_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9._/-]{0,199}\/$/, 'must end in / and be at most 200 characters of A-Z a-z 0-9 . _ / -')
    .prefault('/muster/')
    .meta({ description: 'All keys of this installation lie under this prefix. Two installations need two prefixes.' }),
  MUSTER_ETCD_COMPACT: z
    .enum(['own', 'never'], 'must be own or never')
    .prefault('own')
    .meta({
      description:
        'With `own` Muster compacts the history every 5 minutes and after a purge, for every user of that etcd. With ' +
        '`never` somebody else must.',
    }),
  MUSTER_ETCD_QUOTA_BYTES: integer(1_000_000, 1_000_000_000_000)
    .prefault('2147483648')
    .meta({
      description:
        "etcd's `--quota-backend-bytes`, where etcd tells it neither by its status nor by its metrics. From 80 % of the " +
        'quota on only what takes access away or frees space is taken.',
    }),
  MUSTER_ETCD_CA_FILE: file.optional().meta({
    description: "PEM: the authorities of etcd's certificates. Needs `https://` URLs.",
  }),
  MUSTER_ETCD_CERT_FILE: file.optional().meta({
    description: 'PEM: the client certificate for etcd. Set it together with its key.',
  }),
  MUSTER_ETCD_KEY_FILE: file.optional().meta({
    description: 'PEM: the key of the client certificate. Set it together with the certificate.',
  }),
  MUSTER_ETCD_USERNAME: words(200).optional().meta({
    description: 'The user of etcd. Set it together with a password.',
  }),
  MUSTER_ETCD_PASSWORD: words(1024).optional().meta({ description: 'The password of that user.', secret: true }),
  MUSTER_ETCD_PASSWORD_FILE: file.optional().meta({
    description:
      'A file with the password, in place of the variable. A new one is used for the next token of etcd, which refuses ' +
      'the present one once the password is changed there.',
  }),
};

const listenerVariables = {
  MUSTER_API_LISTEN: listen.prefault('127.0.0.1:8080').meta({ description: 'The address of the API listener.' }),
  MUSTER_DEVICE_LISTEN: listen.prefault('127.0.0.1:8081').meta({ description: 'The address of the device listener.' }),
  MUSTER_OPS_LISTEN: listen.prefault('127.0.0.1:8082').meta({ description: 'The address of the ops listener.' }),
  MUSTER_API_TLS_CERT_FILE: file.optional().meta({
    unset: 'the listener speaks HTTP',
    description:
      "PEM: the certificate chain of the API listener, the listener's own certificate first. Set it together with the " +
      'key.',
  }),
  MUSTER_API_TLS_KEY_FILE: file.optional().meta({ description: 'PEM: the key of that certificate.' }),
  MUSTER_DEVICE_TLS_CERT_FILE: file.optional().meta({
    unset: 'the listener speaks HTTP',
    description: 'The same for the device listener.',
  }),
  MUSTER_DEVICE_TLS_KEY_FILE: file.optional().meta({ description: 'PEM: the key of that certificate.' }),
  MUSTER_OPS_TLS_CERT_FILE: file.optional().meta({
    unset: 'the listener speaks HTTP',
    description: 'The same for the ops listener, with its probes and `/metrics`.',
  }),
  MUSTER_OPS_TLS_KEY_FILE: file.optional().meta({ description: 'PEM: the key of that certificate.' }),
  MUSTER_DRAIN_DELAY_SECONDS: integer(0, 300).prefault('0').meta({
    description: 'How long the service goes on serving after SIGTERM, while `/readyz` says that it drains.',
  }),
};

const accessVariables = {
  MUSTER_OPERATOR_TOKEN: operatorToken.optional().meta({
    unset: 'embedded: generated as `operator-token` in the data directory; etcd: required',
    description: 'The bearer token of the operator API, as a line of `MUSTER_OPERATOR_TOKEN_FILE`.',
    secret: true,
  }),
  MUSTER_OPERATOR_TOKEN_FILE: file.optional().meta({
    description:
      'A file with operator tokens, one a line, each valid: the old and the new one during a rotation. A line ' +
      '`name:token` names the token, for the audit; `name:role:token` also gives it a role: `operator` (that of all others), ' +
      '`support`, `billing`, `auditor` or `metrics`. There may be 1000 tokens. A token that is removed is refused within ' +
      '10 s, also where none is left; while the file cannot be used for more than 10 minutes, all of its tokens are.',
  }),
  ...boundVariables,
  MUSTER_TRUSTED_PROXIES: ranges.optional().meta({
    unset: 'none',
    description:
      'Address ranges of the proxies before the listeners, with commas between them, as in `10.20.0.0/28,fd00:20::/64`. ' +
      'Behind one of them the client is the rightmost address of `X-Forwarded-For` that is none of them: in the log, for ' +
      'the addresses of API keys (H23), and for the bounds per address, which then count its requests in flight that have ' +
      'not authenticated. The header of anybody else is ignored. Name proxies alone: a client within the ranges says ' +
      'itself which address it has.',
  }),
  MUSTER_RATE_WINDOW: z
    .enum(['local', 'shared'], 'must be local or shared')
    .prefault('shared')
    .meta({
      description:
        'With `shared`, replicas on one etcd count the 600 requests of an account together. With `local`, each replica ' +
        'counts for itself, as the single process of an embedded store always does.',
    }),
  MUSTER_METRICS_ACCOUNTS: z
    .enum(['on', 'off'], 'must be on or off')
    .prefault('on')
    .meta({
      description:
        'With `on`, `/metrics` of the leader names by their ids up to 20 accounts that are limited or near it, and up to ' +
        '20 of each ranking of rollouts. With `off` it names none; `muster limits` and `muster rollout list` still do.',
    }),
  MUSTER_METRICS_AUTH: z
    .enum(['none', 'token'], 'must be none or token')
    .prefault('none')
    .meta({
      description:
        'With `none`, `/metrics` is for everybody who reaches the ops listener. With `token` it takes an operator token ' +
        'whose role reads it: `metrics`, `support`, `auditor` or `operator`.',
    }),
  MUSTER_DEVICE_RATE_PER_MINUTE: integer(1, 100_000).prefault('60').meta({
    description: 'Requests a minute of one device on one replica. Further ones are refused with 429.',
  }),
};

const processVariables = {
  MUSTER_ROLES: roles.prefault('api,device,controller').meta({
    description:
      'What this process does. Every replica may be a controller; one of them leads. `kubernetes`, beside ' +
      '`controller`, follows custom resources: [KUBERNETES.md](KUBERNETES.md).',
  }),
  MUSTER_POLL_INTERVAL_SECONDS: integer(1, 86_400).prefault('60').meta({
    description: 'The poll interval that daemons are told, with a spread of 10 % that is fixed for each.',
  }),
  MUSTER_METERING_DELAY_SECONDS: integer(0, 3_600).prefault('300').meta({
    description: 'How long after its midnight (UTC) a night is metered.',
  }),
  MUSTER_PRICE_PER_DAEMON_MONTH: z
    .string()
    .regex(/^\d{1,9}(?:\.\d{1,6})?$/, 'must be a decimal number with at most 9 digits before the point and 6 after it')
    .prefault('0.00')
    .meta({ description: 'The price of an active daemon for a month. It holds for the nights from now on.' }),
  MUSTER_CURRENCY: currency.prefault('EUR').meta({
    description: 'The currency of that price. A new one, and the price set with it, holds from the next month on.',
  }),
  MUSTER_ACCOUNT_QUOTA_MB: integer(0, 1_000_000)
    .prefault('1024')
    .meta({
      description:
        "How many MiB an account's own keys and people may store, in records and audit. An account at its quota is " +
        'refused whatever grows; all else goes on. 0 is no quota. An operator sets another one for one account.',
    }),
  MUSTER_AUDIT_RETENTION_DAYS: integer(1, 36_500).prefault('400').meta({
    description: 'Older audit entries are removed, together with their block of the chain.',
  }),
  MUSTER_AUDIT_LOG: output.optional().meta({
    unset: 'none',
    description:
      'Where the leader writes each entry of all audits as a line of JSON, at least once and in the order of their ' +
      'commits: `stdout`, between the lines of the log, or the path of a file, which may be moved away at any time.',
  }),
  MUSTER_LOG_LEVEL: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'], 'must be debug, info, warn, error or silent')
    .prefault('info')
    .meta({ description: 'The least severe level that is logged. `npm start` sets `warn` where nothing is set.' }),
};

const customResourceVariables = {
  MUSTER_KUBERNETES_NAMESPACES: namespaces.optional().meta({
    unset: 'none by name',
    description: 'The namespaces whose custom resources are followed.',
  }),
  MUSTER_KUBERNETES_NAMESPACE_SELECTOR: labelSelector.optional().meta({
    unset: 'none by label',
    description: 'Namespaces with these labels are followed, too, from when they get them until they lose them.',
  }),
  MUSTER_KUBERNETES_SCOPE: scope.prefault('cluster').meta({
    description: '`cluster`: one watch for each kind. `namespaces`: one in each namespace, without a ClusterRole.',
  }),
  MUSTER_KUBERNETES_RELEASE: namespacedName.optional().meta({
    unset: 'required',
    description: 'The release by its namespace and name, which claims the namespaces that it follows.',
  }),
  MUSTER_KUBERNETES_SERVICE_ACCOUNT: namespacedName
    .optional()
    .meta({ unset: 'none', description: "The operator's service account, for `muster kubernetes rbac`." }),
  MUSTER_KUBERNETES_DEVICE_URL: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .optional()
    .meta({
      unset: 'required',
      description: 'The URL of the device listener as daemons reach it. It stands in the Secrets of apps.',
    }),
  MUSTER_KUBERNETES_SECRET_TEMPLATE: secretTemplateText.optional().meta({
    unset: 'those of the resource alone',
    description:
      'Labels and annotations of each Secret that the operator makes. `spec.secretTemplate` of a resource adds to them, ' +
      'and has the last word on a key.',
  }),
};

/** The variables in the order and under the headings of docs/CONFIGURATION.md. */
export const SECTIONS = {
  'The store': storeVariables,
  'The store on etcd': etcdVariables,
  Listeners: listenerVariables,
  'Tokens and bounds': accessVariables,
  'OpAMP, for collectors': opampVariables,
  'The panel': panelVariables,
  'Calls to the outside': egressVariables,
  'What the process does': processVariables,
  'Custom resources, with the role `kubernetes`': customResourceVariables,
} as const;

/** The schema of all variables together. */
export const environment = z.object({
  ...storeVariables,
  ...etcdVariables,
  ...listenerVariables,
  ...accessVariables,
  ...opampVariables,
  ...panelVariables,
  ...egressVariables,
  ...processVariables,
  ...customResourceVariables,
});
/** The values of the variables, parsed. */
export type Environment = z.infer<typeof environment>;

/** The names of all variables that the service reads. */
export const VARIABLES: readonly string[] = Object.keys(environment.shape);
