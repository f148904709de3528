import { delimiter, resolve } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { CLIENT, notRead, type ClientVariable } from '../../config/client-variables.ts';
import { ConfigError } from '../../config/files/config-error.ts';
import { DATA_DIR } from '../../config/rules.ts';
import { proxyFor, type Proxy } from '../../outgoing/proxy-variables.ts';
import { chosenContext, given, type Asked, type ChosenContext } from './chosen-context.ts';
import { isServiceUrl } from './context-file.ts';
import { certificatesIn } from './fetch-to.ts';
import { ADDRESSES_FILE, keptAddress } from './kept-addresses.ts';
import { isLoopback, type Urls } from './service-urls.ts';

/** The three listeners of the service. */
export type Plane = keyof Urls;

/** The address of a listener. */
export interface Address {
  /** It has no slash at its end. */
  readonly url: string;
  /** The place that it is from, such as the name of a variable, for words that tell what to change. */
  readonly from: string;
  /** The listener is one of this machine, so that its data directory may be asked for a secret. */
  readonly isLocal: boolean;
  /**
   * PEM: whom to trust beside the authorities that Node knows; on this machine in their place (fetch-to.ts). Never
   * empty.
   */
  readonly caFiles?: readonly string[];
  readonly proxy?: Proxy;
  /** Whether the service listens there still, asked before each request; absent where only an answer tells. */
  readonly isThere?: () => boolean;
}

interface Sources {
  readonly variable: ClientVariable;
  readonly inContext: 'url' | 'opsUrl' | 'deviceUrl';
  readonly option: string;
  /** Its address unless it is told another one. */
  readonly unset: string;
}

const SOURCES: Readonly<Record<Plane, Sources>> = {
  api: {
    variable: CLIENT.url,
    inContext: 'url',
    option: '--url',
    unset: 'http://127.0.0.1:8080',
  },
  device: {
    variable: CLIENT.deviceUrl,
    inContext: 'deviceUrl',
    option: '--device-url',
    unset: 'http://127.0.0.1:8081',
  },
  ops: {
    variable: CLIENT.opsUrl,
    inContext: 'opsUrl',
    option: '--ops-url',
    unset: 'http://127.0.0.1:8082',
  },
};

/** The address of a listener of this machine that is told no other. */
export const addressHere = (plane: Plane): string => SOURCES[plane].unset;

/** The variable that names a listener's address. */
export const variableOf = (plane: Plane): ClientVariable => SOURCES[plane].variable;

/**
 * Finds a listener: by `--url`, by `--context`, by its variable, by the context of a variable or the current one, and
 * else where `muster dev` in this folder, or a service without settings of its own, listens on this machine.
 * @throws ConfigError; CommandFault for an unknown context
 */
export function addressOf(plane: Plane, asked: Asked, chosen = chosenContext(asked)): Address {
  const { env, globals, sources } = asked;
  const { variable } = SOURCES[plane];
  // The authority of a context is trusted for its own services alone.
  const authorities = given(env, CLIENT.caFile)?.split(delimiter);
  if (globals.url !== undefined) {
    const caFiles = (chosen?.byOption ? caFilesOf(chosen) : undefined) ?? authorities;
    return remote(globals.url, '--url', caFiles, env);
  }
  if (chosen?.byOption) return ofContext(plane, chosen, env);
  const named = given(env, variable);
  if (named !== undefined) return remote(named, sources?.[variable] ?? variable, authorities, env);
  return chosen ? ofContext(plane, chosen, env) : onThisMachine(plane, env);
}

function ofContext(plane: Plane, chosen: ChosenContext, env: Asked['env']): Address {
  const { variable, inContext, option } = SOURCES[plane];
  const url = chosen.context[inContext];
  if (url !== undefined) return remote(url, fromContext(chosen, variable, env), caFilesOf(chosen), env);
  throw new ConfigError(`the context ${chosen.name}: it has no address of this listener; add it with ${option}`);
}

const caFilesOf = ({ context: { caFile } }: ChosenContext): readonly string[] | undefined =>
  caFile === undefined ? undefined : [caFile];

/** A variable of a former name would have come before the context, unless an option named that. */
const fromContext = ({ name, byOption }: ChosenContext, variable: ClientVariable, env: Asked['env']): string =>
  `the context ${name}${byOption ? '' : notRead(env, [variable, CLIENT.context])}`;

/** @throws ConfigError that does not repeat the text, which may hold a secret */
function remote(text: string, from: string, files: readonly string[] | undefined, env: Asked['env']): Address {
  if (!isServiceUrl(text)) throw new ConfigError(`${from}: must be http://HOST:PORT or https://HOST:PORT`);
  const isLocal = isLoopback(new URL(text).hostname);
  const proxy = proxyFor(text, env);
  const url = text.replace(/\/+$/, '');
  const caFiles = files?.filter((path) => path !== '') ?? [];
  return { url, from, isLocal, ...(caFiles.length > 0 && { caFiles }), ...(proxy && { proxy }) };
}

/** @throws ConfigError */
function onThisMachine(plane: Plane, env: Asked['env']): Address {
  const { variable, unset } = SOURCES[plane];
  const former = notRead(env, [variable, CLIENT.context]);
  const kept = keptAddress(plane, resolve(DATA_DIR, ADDRESSES_FILE));
  if (kept) return { ...kept, from: `${kept.from}${former}`, isLocal: true };
  return { url: unset, from: `the default of ${variable}${former}`, isLocal: true };
}

/**
 * Lets this process trust the authorities of an address from here on; those of this machine at its own requests alone.
 * @throws ConfigError where a file cannot be read or has no PEM certificate
 */
export function trustAuthority({ isLocal, caFiles = [] }: Pick<Address, 'isLocal' | 'caFiles'>): void {
  const certificates = caFiles.flatMap(certificatesIn);
  if (isLocal || certificates.length === 0) return;
  setDefaultCACertificates([...getCACertificates('default'), ...certificates.map((one) => one.toString())]);
}
