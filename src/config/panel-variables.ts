import * as z from 'zod';
import { listen } from './addresses.ts';
import { duration, file, IDLE_UNSET, idleSeconds, integer, words } from './rules.ts';

/* The variables of the panel, and of the OpenID Connect provider by which people sign in to it. */

const LOOPBACK_NAMES: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);
/** Whether a URL's host is this machine itself. */
export const isLoopbackUrl = ({ hostname }: URL): boolean => LOOPBACK_NAMES.has(hostname);

/** An https URL, or an http one of this machine, without a path. */
const origin = z.string().transform((value, ctx) => {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const isBare = url && url.origin === value.replace(/\/$/, '').toLowerCase();
  if (isBare && (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackUrl(url)))) return url.origin;
  ctx.addIssue('must be https://HOST[:PORT] without a path, or http:// with a loopback host');
  return z.NEVER;
});

/** The characters of a path that mean nothing to a shell, to YAML or to a URL. */
const PUBLIC_URL = /^https?:\/\/[^/?#@\\\s]+(?:\/[A-Za-z0-9._~-]+)*\/*$/i;

/** The URL of a listener as its clients reach it, perhaps below a path of a proxy. */
const publicUrl = z
  .string()
  .max(2048)
  .transform((value, ctx) => {
    const url = URL.canParse(value) && PUBLIC_URL.test(value) ? new URL(value) : undefined;
    if (url && (url.protocol === 'https:' || isLoopbackUrl(url))) return url.origin + url.pathname.replace(/\/+$/, '');
    ctx.addIssue(
      'must be https://HOST[:PORT][/PATH], or http:// with a loopback host; its path of A-Z a-z 0-9 . _ ~ - /',
    );
    return z.NEVER;
  });

const issuer = z.string().transform((value, ctx) => {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const isPlain = url && url.search === '' && url.hash === '' && url.username === '' && url.password === '';
  if (isPlain && (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackUrl(url)))) return value;
  ctx.addIssue('must be an https URL, or an http one with a loopback host, without query and fragment');
  return z.NEVER;
});

/** Listens nowhere. */
export const OFF = 'off';

export const panelVariables = {
  MUSTER_PANEL_LISTEN: z
    .union([z.literal(OFF), listen], 'must be host:port, or off')
    .prefault('127.0.0.1:8083')
    .meta({ description: "The address of the panel's listener; `off`, or an empty value, for no panel." }),
  MUSTER_PANEL_URL: origin.optional().meta({
    unset: '`http://localhost` and the port of the listener',
    description:
      'The address by which browsers reach the panel, behind whatever proxies there are. It is required where the ' +
      'listener is not on a loopback address.',
  }),
  MUSTER_PUBLIC_API_URL: publicUrl.optional().meta({
    unset: 'the address of the API listener',
    description: 'The URL of the API listener as its clients reach it. It stands in the commands that the panel shows.',
  }),
  MUSTER_PUBLIC_DEVICE_URL: publicUrl.optional().meta({
    unset: 'the address of the device listener',
    description: 'The URL of the device listener as daemons reach it, for the same commands.',
  }),
  MUSTER_PANEL_TLS_CERT_FILE: file.optional().meta({
    unset: 'the listener speaks HTTP',
    description: "PEM: the certificate chain of the panel's listener, as for the API listener.",
  }),
  MUSTER_PANEL_TLS_KEY_FILE: file.optional().meta({ description: 'PEM: the key of that certificate.' }),
  MUSTER_PANEL_CONCURRENCY: integer(1, 1_000_000).prefault('500').meta({
    description: "Requests in flight on the panel's listener. One more is refused with 503.",
  }),
  MUSTER_PANEL_CONNECTIONS_PER_ADDRESS: integer(0, 1_000_000)
    .prefault('500')
    .meta({ description: "The same as for the API listener, for the panel's." }),
  MUSTER_PANEL_IDLE_SECONDS: idleSeconds.optional().meta({
    unset: IDLE_UNSET,
    description: "The same as for the API listener, for the panel's.",
  }),
  MUSTER_PANEL_PASSWORDS: z
    .enum(['on', 'off'], 'must be on or off')
    .prefault('on')
    .meta({ description: 'With `off`, people sign in by the provider or by passkeys alone.' }),
  MUSTER_SIGN_INS_PER_ADDRESS: integer(1, 100_000)
    .prefault('20')
    .meta({
      description:
        'Attempts to sign in of one address, or a /64 of IPv6, in a minute on one replica, each of passwords, passkeys ' +
        'and links. A browser in which the user has signed in before is exempt. Raise it where many people share one ' +
        'address and sign in for the first time.',
    }),
  MUSTER_PANEL_SECOND_FACTOR: z
    .enum(['off', 'operators', 'all'], 'must be off, operators or all')
    .prefault('off')
    .meta({
      description:
        'Whose sessions need a second factor: a passkey, or what `MUSTER_OIDC_SECOND_FACTOR` names. Whoever has none may only ' +
        'add a passkey, and is refused everything else.',
    }),
  MUSTER_SESSION_IDLE: duration('1m', '30d')
    .prefault('12h')
    .meta({ description: 'A session that nobody uses for so long has ended.' }),
  MUSTER_SESSION_MAX: duration('5m', '90d')
    .prefault('7d')
    .meta({ description: 'A session lasts so long at most; one that has begun keeps its end.' }),
  MUSTER_OIDC_ISSUER: issuer.optional().meta({
    unset: 'no provider',
    description: 'The issuer of the OpenID Connect provider by which people sign in.',
  }),
  MUSTER_OIDC_CLIENT_ID: words(200).optional().meta({
    unset: 'required with the issuer',
    description: 'The id of this installation as a client of the provider.',
  }),
  MUSTER_OIDC_CLIENT_SECRET_FILE: file.optional().meta({
    unset: 'required with the issuer',
    description: "The file of the client's secret. A new one is used at the next sign-in.",
  }),
  MUSTER_OIDC_SCOPES: z
    .string()
    .regex(/^openid(?: [\x21\x23-\x5b\x5d-\x7e]{1,100}){0,20}$/, 'must begin with openid, with spaces between scopes')
    .prefault('openid profile email groups offline_access')
    .meta({
      description: 'The scopes that are asked for. `offline_access` keeps roles up to date without a new sign-in.',
    }),
  MUSTER_OIDC_GROUPS_CLAIM: words(200)
    .prefault('groups')
    .meta({ description: "The claim of the ID token that holds the user's groups, a list of texts." }),
  MUSTER_OIDC_GROUPS_FILE: file.optional().meta({
    unset: 'groups give no roles',
    description:
      'The roles that groups give, one a line: `operator GROUP`, `support GROUP`, `auditor GROUP`, `owner ACCOUNTID GROUP` or ' +
      '`viewer ACCOUNTID GROUP`. ' +
      'Lines that begin with `#` are ignored. New rules hold for each sign-in and each renewal of roles from then on, and ' +
      'so for everybody within an hour.',
  }),
  MUSTER_OIDC_SECOND_FACTOR: z
    .string()
    .regex(
      /^[\x21\x23-\x5b\x5d-\x7e]{1,100}(?: [\x21\x23-\x5b\x5d-\x7e]{1,100}){0,20}$/,
      'must be words with spaces between them',
    )
    .optional()
    .meta({
      unset: 'a sign-in at the provider has no second factor',
      description:
        'The values of the claim `amr` by which the provider says that it asked for a second factor, such as `mfa hwk` (RFC 8176).',
    }),
  MUSTER_OIDC_NEWCOMERS: z
    .enum(['roles', 'all'], 'must be roles or all')
    .prefault('roles')
    .meta({
      description:
        'Who becomes a user by a first sign-in at the provider: `roles` is whoever has a role by the groups, or an invitation ' +
        'that was opened in the same browser; `all` is everybody whom the provider lets in.',
    }),
  MUSTER_OIDC_PROVIDER_NAME: words(60)
    .prefault('single sign-on')
    .meta({ description: 'The name of the provider on the button of the sign-in page.' }),
};
