import { ROUTES as DEVICE_ROUTES } from '../device/device-plane.ts';
import { ERRORS, type ErrorCode } from '../http/errors.ts';
import { OPERATIONS as OPERATOR_OPERATIONS } from '../operator/ops-server.ts';
import { withTag } from '../contract/panel/reads.ts';
import { OPERATIONS as PANEL_OPERATIONS } from '../panel/routes.ts';
import { ROUTES as V1_ROUTES } from '../v1/gateway.ts';
import type { Operation } from '../contract/operation.ts';

/*
 * The APIs as their documents present them, and which errors each of their operations may have. That of the panel is
 * for its own pages and for access tokens: it has a document, and neither clients nor samples.
 */

/** The APIs for programs. */
export const API_NAMES = ['v1', 'device', 'operator'] as const;
export const DOCUMENT_NAMES = [...API_NAMES, 'panel'] as const;
export type ApiName = (typeof DOCUMENT_NAMES)[number];

export interface Api {
  readonly title: string;
  readonly description: string;
  readonly operations: readonly Operation[];
  /** The address of a service on this machine; the operator's document is served where its API is. */
  readonly server: { readonly url: string; readonly description: string };
  readonly credential: {
    readonly name: string;
    /** The format of a bearer; absent for a cookie. */
    readonly format?: string;
    readonly description: string;
  };
  /** A bearer that some of its operations take in place of that. */
  readonly token?: { readonly name: string; readonly format: string; readonly description: string };
  /**
   * The names of its client's class and of its option for the secret, and the variables that the samples take: an
   * address, and the path of a file with the secret, as `muster env` sets them.
   */
  readonly sample?: {
    readonly client: string;
    readonly secret: string;
    readonly url: string;
    readonly variable: string;
    /** The file may have several secrets, each as `name:secret`; any is taken. */
    readonly isNamed?: true;
  };
}

const COMMON =
  'Times are UTC with milliseconds and `Z`. Every answer carries `X-Request-Id`. An error is a JSON object with a `code` ' +
  'for programs and a `message` for people; what is no HTTP request gets one as well (400, on the API listener 404). ' +
  'Fields may be added to answers: ignore those that you do not know. ' +
  'docs/API.md has the prose: limits and pacing, idempotency, consistency, versions.';

export const APIS: Readonly<Record<ApiName, Api>> = {
  v1: {
    title: 'Muster API',
    description: `The API of account owners: apps with their enrollment codes, and one OpenTelemetry export configuration for the fleet. ${COMMON}`,
    operations: V1_ROUTES,
    server: { url: 'http://127.0.0.1:8080', description: 'A service on this machine.' },
    credential: {
      name: 'apiKey',
      format: 'mst_live_…',
      description: 'An API key of the account. The operator creates it; only the answer to that shows it.',
    },
    sample: {
      client: 'OwnerClient',
      secret: 'apiKey',
      url: 'MUSTER_CLIENT_URL',
      variable: 'MUSTER_CLIENT_API_KEY_FILE',
    },
  },
  device: {
    title: 'Muster device plane',
    description: `The API of daemons: enrollment, polls of the configuration, acknowledgements and detections. ${COMMON}`,
    operations: DEVICE_ROUTES,
    server: { url: 'http://127.0.0.1:8081', description: 'A service on this machine.' },
    credential: {
      name: 'deviceCredential',
      format: 'mst_dev_…',
      description: 'The credential with which the daemon enrolled, or which the service made for it.',
    },
    sample: {
      client: 'DeviceClient',
      secret: 'credential',
      url: 'MUSTER_CLIENT_DEVICE_URL',
      variable: 'MUSTER_CREDENTIAL_FILE',
    },
  },
  operator: {
    title: 'Muster operator API',
    description: `The API of the platform team: accounts, API keys, audit, review queue, usage, keys and backups. ${COMMON}`,
    operations: OPERATOR_OPERATIONS,
    server: { url: '/', description: 'The listener that serves this document.' },
    credential: {
      name: 'operatorToken',
      format: 'opaque',
      description:
        'An operator token of the installation, a secret of the platform team. Its role says which operations it is for: ' +
        'docs/CONTRACT.md has the table.',
    },
    sample: {
      client: 'OperatorClient',
      secret: 'token',
      url: 'MUSTER_CLIENT_OPS_URL',
      variable: 'MUSTER_CLIENT_OPERATOR_TOKEN_FILE',
      isNamed: true,
    },
  },
  panel: {
    title: 'Muster panel',
    description: `What the pages of the panel ask, and programs with an access token. It may change with the pages. ${COMMON}`,
    operations: PANEL_OPERATIONS.map((operation) => withTag<Operation>(operation)),
    server: { url: '/', description: 'The listener of the panel.' },
    credential: {
      name: 'session',
      description:
        'The cookie of a session: `__Host-muster`, or `muster_<port>` on plain http of a loopback address. A write also ' +
        'needs the `Origin` of the panel.',
    },
    token: {
      name: 'accessToken',
      format: 'mst_pat_…',
      description:
        'An access token of a person for one account. It reaches the operations on that account which need no fresh proof, ' +
        'with its own role or its person’s, whichever is less. Cookies beside it count for nothing.',
    },
  },
};

/** The errors of an operation, in the order of the table. */
export function errorsOf(api: ApiName, operation: Operation): readonly ErrorCode[] {
  const codes = new Set<ErrorCode>([...ofApi(api, operation), ...(operation.errors ?? [])]);
  const { path, body, refuse, query, headers, requires, idempotency, freshProof } = operation;
  if (path.includes(':')) codes.add('not_found');
  if (requires) codes.add('enterprise_required');
  if (body) codes.add('payload_too_large');
  if (body && api !== 'v1') codes.add('invalid_request');
  if (query) codes.add('invalid_request');
  if (headers?.includes('If-Match')) codes.add('precondition_failed');
  if (freshProof) codes.add('proof_required');
  for (const code of Object.values(refuse ?? {})) codes.add(code);
  if (idempotency && idempotency.malformed !== 'ignored') codes.add(idempotency.malformed);
  return (Object.keys(ERRORS) as ErrorCode[]).filter((code) => codes.has(code));
}

function ofApi(api: ApiName, { credential, access, beforeSecondFactor }: Operation): readonly ErrorCode[] {
  if (api === 'panel') {
    const signedIn: ErrorCode[] = access === 'anyone' ? [] : ['invalid_session'];
    if (access !== 'anyone' && !beforeSecondFactor) signedIn.push('second_factor_required');
    const common: ErrorCode[] = ['invalid_request', 'invalid_token', 'forbidden', 'rate_limited'];
    return [...common, 'overloaded', 'upstream_unavailable', ...signedIn];
  }
  if (api === 'v1') return ['invalid_key', 'account_disabled', 'forbidden', 'rate_limited', 'upstream_unavailable'];
  if (api === 'operator') return ['invalid_token', 'forbidden', 'overloaded', 'upstream_unavailable'];
  const authenticated: readonly ErrorCode[] = ['invalid_credential', 'account_disabled', 'rate_limited'];
  return ['overloaded', 'upstream_unavailable', ...(credential === 'optional' ? [] : authenticated)];
}
