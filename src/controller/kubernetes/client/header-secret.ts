import type { KubeObject } from './kube-api.ts';

/* The Secrets that people make for headers: a label offers them to Muster, annotations say to whom (ADR 0039). */

/** The label of a Secret whose values Muster may read to send them to collectors. */
export const HEADER_LABEL = 'muster.dev/auth-header';
export const HEADER_SELECTOR: string = `${HEADER_LABEL}=true`;
/** The annotation that names the FleetOtelConfigs which may use the Secret, separated by commas. */
export const HEADER_FOR = 'muster.dev/auth-header-for';
/** The annotation that names the origins to which the values may be sent, separated by commas. */
export const HEADER_ENDPOINT = 'muster.dev/auth-header-endpoint';

/** The causes for which there is no header: each is mended in another way. */
export type NoHeader = 'NoSecret' | 'NotLabelled' | 'NotForResource' | 'NotForEndpoint' | 'NoKey';

const ANNOTATION_CHARACTERS_MAX = 8192;
/** A path would promise what is not kept: only scheme, host and port are compared. */
const BARE_ORIGIN = /^https?:\/\/[^/?#@\\\s]+\/?$/i;

const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? { ...value } : {};

/** The annotation of a header's Secret that does not name the resource, or the origin of the endpoint. */
export function unboundTo(
  { metadata }: KubeObject,
  name: string,
  endpoint: string,
): 'NotForResource' | 'NotForEndpoint' | undefined {
  const annotations = recordOf(metadata['annotations']);
  const listed = (annotation: string): readonly string[] => {
    const text = annotations[annotation];
    if (typeof text !== 'string') return [];
    return text
      .slice(0, ANNOTATION_CHARACTERS_MAX)
      .split(',')
      .map((part) => part.trim());
  };
  const origin = originOf(endpoint);
  if (!listed(HEADER_FOR).includes(name)) return 'NotForResource';
  const isAllowed = (allowed: string): boolean => BARE_ORIGIN.test(allowed) && originOf(allowed) === origin;
  return origin !== undefined && listed(HEADER_ENDPOINT).some(isAllowed) ? undefined : 'NotForEndpoint';
}

/** Scheme, host and port, in the one spelling that WHATWG has for them; undefined for what is no http URL. */
function originOf(url: string): string | undefined {
  const parsed = URL.parse(url);
  return parsed && /^https?:$/.test(parsed.protocol) ? parsed.origin : undefined;
}
