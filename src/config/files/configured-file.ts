import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { ConfigError } from './config-error.ts';
import { plantedByOthers, writableByOthers } from './trusted-file.ts';

/*
 * The files that the configuration names. Their descriptions stand in the configuration. Their contents are read at the
 * start, and again and again while the service runs (service/files/watched-file.ts).
 */

interface FileRule {
  /** A file with more bytes is refused. */
  readonly bytesMax: number;
  /** The content decides who is trusted, or what every collector does: nobody else may write the file. */
  readonly guarded?: true;
}

/** A long chain with large keys, and the bundle of all public authorities, are far smaller. */
const PEM: FileRule = { bytesMax: 1_048_576 };
const AUTHORITIES: FileRule = { ...PEM, guarded: true };

/** Each variable with a file; `config.ts` does not compile without one. */
export const FILE_RULES = {
  // A hundred keys with a remark on each are far smaller.
  MUSTER_KEY_FILE: { bytesMax: 65_536, guarded: true },
  MUSTER_OPERATOR_TOKEN_FILE: { bytesMax: 1_048_576, guarded: true },
  MUSTER_ETCD_CA_FILE: AUTHORITIES,
  MUSTER_ETCD_CERT_FILE: PEM,
  MUSTER_ETCD_KEY_FILE: PEM,
  MUSTER_ETCD_PASSWORD_FILE: { bytesMax: 4096 },
  MUSTER_API_TLS_CERT_FILE: PEM,
  MUSTER_API_TLS_KEY_FILE: PEM,
  MUSTER_DEVICE_TLS_CERT_FILE: PEM,
  MUSTER_DEVICE_TLS_KEY_FILE: PEM,
  MUSTER_OPS_TLS_CERT_FILE: PEM,
  MUSTER_OPS_TLS_KEY_FILE: PEM,
  MUSTER_PANEL_TLS_CERT_FILE: PEM,
  MUSTER_PANEL_TLS_KEY_FILE: PEM,
  MUSTER_OIDC_CLIENT_SECRET_FILE: { bytesMax: 16_384, guarded: true },
  MUSTER_OIDC_GROUPS_FILE: { bytesMax: 4_194_304, guarded: true },
  // The template has a bound of its own, which tells by how much it is too long.
  MUSTER_OPAMP_TEMPLATE_FILE: { bytesMax: 1_048_576, guarded: true },
  MUSTER_OPAMP_CA_FILE: AUTHORITIES,
} as const satisfies Readonly<Record<string, FileRule>>;

/** A variable with the path of a file. */
export type FileVariable = keyof typeof FILE_RULES;

/** The names of all variables with a file. */
export const FILE_VARIABLES = Object.keys(FILE_RULES) as readonly FileVariable[];

/** A file as it is to be read. */
export interface ConfiguredFile {
  /** Its variable, by which the metrics name it also where it lies in the data directory. */
  readonly variable: FileVariable;
  /** The variable where that names the file, its path elsewhere: for a person. */
  readonly name: string;
  readonly path: string;
  readonly bytesMax: number;
  /** Tells in words why the file of that path must not be used. */
  readonly distrusted?: (path: string) => string | undefined;
}

export type ConfiguredFiles = Readonly<Partial<Record<FileVariable, ConfiguredFile>>>;

/** The file that a variable names. */
export function configuredFile(variable: FileVariable, path: string): ConfiguredFile {
  const { bytesMax, guarded }: FileRule = FILE_RULES[variable];
  return { variable, name: variable, path, bytesMax, ...(guarded && { distrusted: writableByOthers }) };
}

/** The file in the data directory that is read where the variable names none. */
export const generatedFile = (variable: FileVariable, path: string): ConfiguredFile => ({
  ...configuredFile(variable, path),
  name: path,
  distrusted: plantedByOthers,
});

/** A certificate and its key; undefined where they are not configured. */
export function configuredPair(
  files: ConfiguredFiles,
  certificate: FileVariable,
  key: FileVariable,
): readonly [certificate: ConfiguredFile, key: ConfiguredFile] | undefined {
  const [one, other] = [files[certificate], files[key]];
  return one && other && [one, other];
}

/** Opens a pipe, too, at once: whoever writes into it need not be there. */
export const OPEN_TO_READ = constants.O_RDONLY | constants.O_NONBLOCK;

/** Tells in words why nothing can be read there again and again; undefined for a file. */
export function whyNoFile(found: Stats): string | undefined {
  if (found.isFile()) return undefined;
  if (found.isDirectory()) return 'it is a directory';
  return 'it is no file that can be read again: put the content into one';
}

export const tooLong = (bytesMax: number): string => `the file has more than ${bytesMax} bytes`;

const BYTE_ORDER_MARK = Buffer.of(0xef, 0xbb, 0xbf);

/** Editors and shells of Windows begin a text with a byte order mark, which belongs to no content. */
export const withoutByteOrderMark = (content: Buffer): Buffer =>
  content.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)
    ? content.subarray(BYTE_ORDER_MARK.length)
    : content;

/** Reads a file at the start. @throws ConfigError that names the file and the rule */
export function contentAtStart({ name, path, bytesMax, distrusted }: ConfiguredFile): Buffer {
  let content: Buffer;
  try {
    content = boundedContent(path, bytesMax);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new ConfigError(`${name}: ${code === undefined ? message : `the file cannot be read (${code})`}`);
  }
  const why = distrusted?.(path);
  if (why !== undefined) throw new ConfigError(`${name}: ${why}`);
  return content;
}

function boundedContent(path: string, bytesMax: number): Buffer {
  const file = openSync(path, OPEN_TO_READ);
  try {
    const noFile = whyNoFile(fstatSync(file));
    if (noFile !== undefined) throw new Error(noFile);
    // One byte above the bound tells that there are more.
    const content = Buffer.alloc(bytesMax + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < content.length; length += read) {
      read = readSync(file, content, length, content.length - length, null);
    }
    if (length > bytesMax) throw new Error(tooLong(bytesMax));
    return withoutByteOrderMark(Buffer.from(content.subarray(0, length)));
  } finally {
    closeSync(file);
  }
}
