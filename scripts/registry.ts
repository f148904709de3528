import { UsageError } from './tool-arguments.ts';

/** A place in a registry, as an argument names it. */
export interface Registry {
  /** Host, and port where it has one. */
  readonly host: string;
  /** Host and path, without a slash at the end. */
  readonly place: string;
  /** The repository of the image below the host. */
  readonly repository: string;
  /** Whether it is on this machine, where nobody listens to plain HTTP. */
  readonly isLoopback: boolean;
}

const HOST = /^(?:localhost|[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+)(?::\d{1,5})?$/;
const PATH_PART = /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*$/;
const LENGTH_MAX = 200;

/**
 * Reads the one argument `HOST[:PORT][/PATH]`, by the grammar of image names: a host has a dot or is `localhost`.
 * @throws UsageError that says what is wrong, without the text, which may have a password in it
 */
export function parseRegistry([text = '', ...others]: readonly string[]): Registry {
  if (text === '' || others.length > 0) throw new UsageError('Name one registry.');
  const [host = '', ...path] = text.replace(/\/$/, '').split('/');
  if (text.length > LENGTH_MAX || !HOST.test(host) || !path.every((part) => PATH_PART.test(part)))
    throw new UsageError('A registry is HOST[:PORT][/PATH] in lower case, without a scheme and without credentials.');
  const name = host.replace(/:\d+$/, '');
  return {
    host,
    place: [host, ...path].join('/'),
    repository: [...path, 'muster'].join('/'),
    isLoopback: name === 'localhost' || /^127(?:\.\d{1,3}){3}$/.test(name),
  };
}
