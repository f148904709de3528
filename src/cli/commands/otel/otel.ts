import type { OtelConfig, OwnerClient, StoreOtelConfigRequest } from '#client';
import { pastedHeaders } from '../../../domain/otel-config/pasted-headers.ts';
import { ownerOf } from '../../connection/clients.ts';
import type { Column } from '../../output/columns.ts';
import { printOne } from '../../output/print.ts';
import { confirmed } from '../../terminal/confirmation.ts';
import { CommandFault, EXIT } from '../../terminal/exit.ts';
import { valueIn } from '../../terminal/input.ts';
import type { Invocation } from '../../terminal/invocation.ts';

/* `muster otel`: the export configuration of an account. */

const COLUMNS: readonly Column<OtelConfig>[] = [
  { head: 'ENABLED', field: 'enabled', tone: ({ enabled }) => (enabled ? 'good' : 'faint') },
  { head: 'ENDPOINT', field: 'endpoint', kind: 'text' },
  { head: 'HEADER SET', field: 'authHeaderSet' },
  { head: 'EVIDENCE', field: 'evidenceLevel' },
];

/** Above what the service takes, with an end of line. */
const HEADER_BYTES_MAX = 16_384;

/** @throws ConfigError, MusterError */
export async function getOtelConfig(call: Invocation): Promise<void> {
  await printOne(call, { columns: COLUMNS, item: await ownerOf(call).readOtelConfig(requestOf(call)) });
}

export interface SetOptions {
  readonly endpoint?: string;
  /** `-` is stdin. */
  readonly authHeaderFile?: string;
  /**
   * The form of that file: `otlp` is that of OTEL_EXPORTER_OTLP_HEADERS. Without it a person is asked where it looks
   * so.
   */
  readonly authHeaderForm?: 'plain' | 'otlp';
  /** False deletes the stored header; commander sets true where it is not given. */
  readonly authHeader: boolean;
  readonly evidence?: OtelConfig['evidenceLevel'];
  readonly enabled?: 'true' | 'false';
}

/**
 * Changes what is given and leaves the rest; the stored header is deleted once a person has agreed. The first
 * configuration of an account is enabled, unless it says otherwise.
 * @throws CommandFault, ConfigError, MusterError
 */
export async function setOtelConfig(call: Invocation, options: SetOptions): Promise<void> {
  const { endpoint, authHeaderFile, authHeaderForm, authHeader: keepsHeader, evidence, enabled } = options;
  if ([endpoint, authHeaderFile, evidence, enabled].every((one) => one === undefined) && keepsHeader) {
    throw new CommandFault('Say what to set: --endpoint, --auth-header-file, --evidence or --enabled.', EXIT.usage);
  }
  if (authHeaderFile !== undefined && !keepsHeader) {
    throw new CommandFault('Give only one of --auth-header-file and --no-auth-header.', EXIT.usage);
  }
  if (authHeaderForm !== undefined && authHeaderFile === undefined) {
    throw new CommandFault('--auth-header-form is about the file of --auth-header-file: give both.', EXIT.usage);
  }
  const authHeader = keepsHeader ? await headerIn(call, authHeaderFile, authHeaderForm) : '';
  if (!keepsHeader) {
    const what = 'Delete the stored header, which nothing shows any more, so that daemons send none';
    await confirmed({ what, count: 1, yes: call.globals.yes }, call.terminal);
  }
  const change = (stored: OtelConfig): StoreOtelConfigRequest => {
    const isFirst = stored.endpoint === '';
    return {
      enabled: enabled === undefined ? stored.enabled || (isFirst && endpoint !== undefined) : enabled === 'true',
      endpoint: endpoint ?? stored.endpoint,
      evidenceLevel: evidence ?? stored.evidenceLevel,
      ...(authHeader !== undefined && { authHeader }),
    };
  };
  await printOne(call, { columns: COLUMNS, item: await ownerOf(call).changeOtelConfig(change, requestOf(call)) });
}

/** An empty file would delete the stored header, which nobody means by one. */
async function headerIn(
  call: Invocation,
  path: string | undefined,
  form: SetOptions['authHeaderForm'],
): Promise<string | undefined> {
  if (path === undefined) return undefined;
  const header = await valueIn(path, HEADER_BYTES_MAX);
  if (header === '') {
    throw new CommandFault('The file of the header is empty; --no-auth-header deletes the stored one.', EXIT.usage);
  }
  return form === 'plain' ? header : await decodedIn(call, header, form);
}

const FORM = 'the form of OTEL_EXPORTER_OTLP_HEADERS (name=value, percent-encoded)';

/**
 * Asks about a header that was copied in the form of the variable: as it stands, no collector takes it. The header is a
 * secret: its name alone is told.
 */
async function decodedIn({ globals, terminal }: Invocation, header: string, form: 'otlp' | undefined): Promise<string> {
  const pasted = pastedHeaders(header);
  if (!pasted) {
    if (form === undefined) return header;
    throw new CommandFault(`The header is not in ${FORM}: leave --auth-header-form out.`, EXIT.usage);
  }
  const { names, decoded } = pasted;
  const asIs = '--auth-header-form plain stores it as it stands';
  if (decoded === undefined) {
    const which = `The file has ${names.length} headers in ${FORM}: ${names.join(', ')}`;
    throw new CommandFault(`${which}. One can be stored: leave the others out; ${asIs}.`, EXIT.usage);
  }
  if (form === 'otlp') return decoded;
  const looks = `The header ${names.join()} is in ${FORM}`;
  if (globals.yes || !terminal.ask) {
    throw new CommandFault(`${looks}. --auth-header-form otlp stores the decoded value; ${asIs}.`, EXIT.usage);
  }
  await confirmed({ what: `${looks}. Store its decoded value`, count: 1, yes: false }, terminal);
  return decoded;
}

/** @throws CommandFault, ConfigError, MusterError */
export async function purgeOtelConfig(call: Invocation): Promise<void> {
  const owner: OwnerClient = ownerOf(call);
  const what = 'Purge the configuration with its header, so that no daemon exports anything';
  await confirmed({ what, count: 1, yes: call.globals.yes }, call.terminal);
  const item = await owner.purgeOtelConfig(requestOf(call));
  await printOne(call, { columns: [{ head: 'DELETED', field: 'deleted' }], item });
}

const requestOf = ({ globals }: Invocation) => ({ requestId: globals.requestId });
