import { resolve } from 'node:path';
import * as z from 'zod';
import { addressOf, isIPv4, rangeOf } from '../text/ip-addresses.ts';
import { newFileFault } from './rules.ts';

/** `host:port`; an IPv6 host stands in brackets. */
export const listen = z
  .string()
  .regex(/^(?:[A-Za-z0-9.-]+|\[[0-9a-fA-F:.]+\]):\d{1,5}$/, 'must be host:port')
  .transform((value) => {
    const at = value.lastIndexOf(':');
    return { host: value.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(value.slice(at + 1)) };
  })
  .refine(({ port }) => port <= 65_535, 'must have a port of at most 65535');

/** An address for all interfaces is reached at the machine's own. */
const REACHED: ReadonlyMap<string, string> = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
]);

/** The URL of a listener of this machine, as in `http://[::1]:8080`. */
export function localUrl(scheme: 'http' | 'https', host: string, port: number | string): string {
  const name = REACHED.get(host) ?? host;
  return `${scheme}://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

/**
 * Whether two listeners on these hosts cannot have the same port. A name is not looked up: it is compared with itself,
 * and with the address that takes every other one.
 */
export function excludeEachOther(one: string, other: string): boolean {
  const [first, second] = [canonicalHost(one), canonicalHost(other)];
  if (first === second || first === '::' || second === '::') return true;
  return (first === '0.0.0.0' && isIPv4(second)) || (second === '0.0.0.0' && isIPv4(first));
}

/** One spelling for each address; that of IPv4 where an IPv6 address stands for one. */
const canonicalHost = (host: string): string => addressOf(host)?.toString() ?? host.toLowerCase();

/** The store: a path, or the members of an etcd. */
export const store = z.string().transform((value, ctx) => {
  const sqlite = /^sqlite:(.*)$/s.exec(value);
  if (sqlite) return ofFile(sqlite[1] ?? '', ctx);
  const urls = (/^etcd:(.+)$/s.exec(value)?.[1]?.split(',') ?? []).map(plainly);
  const broken = brokenEndpointRule(urls);
  if (broken === undefined) return { kind: 'etcd' as const, endpoints: urls };
  ctx.addIssue(broken);
  return z.NEVER;
});

/** @param text of the path; an empty one is the file in the data directory */
function ofFile(text: string, ctx: z.RefinementCtx<string>) {
  const fault = text === '' ? undefined : newFileFault(text);
  if (fault === undefined) return { kind: 'sqlite' as const, path: text === '' ? '' : resolve(text) };
  ctx.addIssue(`sqlite:PATH ${fault}`);
  return z.NEVER;
}

/** A URL without what people and other programs write around it: blanks, capitals of scheme and host, and a slash. */
const plainly = (url: string): string => url.trim().toLowerCase().replace(/\/$/, '');

/** Checks the addresses by the rules of the etcd back-end, before it is opened. @returns the rule that is broken */
function brokenEndpointRule(urls: readonly string[]): string | undefined {
  const parsed = urls.map((url) => /^(https?):\/\/(?:[^/@?#\s:]+|\[[0-9a-fA-F:.]+\])(?::(\d{1,5}))?$/.exec(url));
  if (urls.length === 0 || parsed.includes(null)) {
    return 'must be sqlite:PATH or etcd:URL,URL,… with http:// or https:// URLs';
  }
  const ports = parsed.map((parts) => Number(parts?.[2] ?? 0));
  if (ports.some((port) => port < 1 || port > 65_535))
    return 'every etcd URL must end in a port, as in http://HOST:2379';
  if (new Set(parsed.map((parts) => parts?.[1])).size > 1) return 'etcd URLs must be all http:// or all https://';
  return undefined;
}

const PROXIES_MAX = 100;
/** Addresses and ranges of them, with commas between them. */
export const ranges = z.string().transform((value, ctx) => {
  const parsed = value.split(',').map((range) => rangeOf(range.trim()));
  if (parsed.length <= PROXIES_MAX && parsed.every((range) => range !== undefined)) return parsed;
  ctx.addIssue(`must be at most ${PROXIES_MAX} addresses or ranges, as in 10.0.0.0/8, with commas between them`);
  return z.NEVER;
});

/** A proxy: no path, and a port of its own; it may ask for a user and a password. */
const proxy = z.string().transform((value, ctx) => {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const isBare =
    /^https?:\/\/(?:[^/?#\s@:]+(?::[^/?#\s@]*)?@)?(?:[^/@?#\s:]+|\[[0-9a-fA-F:.]+\])(?::\d{1,5})?\/?$/.test(value);
  if (url && isBare) return url.href;
  ctx.addIssue(
    'must be http://HOST:PORT or https://HOST:PORT, with USER:PASSWORD@ before the host where it asks for them',
  );
  return z.NEVER;
});

export const egressVariables = {
  MUSTER_EGRESS_PROXY: proxy.optional().meta({
    unset: 'directly; `http_proxy` and the like do not count',
    description:
      'The proxy of every call that the service itself makes to the world outside, such as those to the OpenID Connect ' +
      'provider. The proxy then resolves the names, and decides which addresses may be reached. etcd and the API server of ' +
      'Kubernetes are always reached directly.',
    secret: true,
  }),
  MUSTER_EGRESS_ALLOW: ranges.optional().meta({
    unset: 'none',
    description:
      'The addresses and ranges inside that the service may call where an owner of an account names them, as in ' +
      '`10.20.0.0/16,fd12:3456::/32`: collectors that are tested in the panel. Loopback, private, link-local and shared ' +
      'addresses, those by which clouds tell secrets, and those of this machine and of etcd are refused otherwise. The ' +
      "ports of etcd and of this process's own listeners stay shut, those of other replicas do not. With " +
      '`MUSTER_EGRESS_PROXY` it is the proxy that guards names.',
  }),
};
