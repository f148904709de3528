import { LIMITS } from '../limits.ts';
import { authHeaderFault, collectorHeaders } from './collector-header.ts';

/*
 * Vendors of collectors give the header in the form of OTEL_EXPORTER_OTLP_HEADERS (OpenTelemetry's "Protocol Exporter":
 * `name=value` pairs, separated by commas, values percent-encoded as in W3C Baggage). Pasted where one header is meant, it
 * would reach the collector as it stands. `/v1` stores what it is given; the panel and the command line ask.
 */

/** What a text in that form stands for. */
export interface PastedHeaders {
  /** The names of its headers, as they were typed: one or more. */
  readonly names: readonly string[];
  /** The same header as a daemon is to send it; undefined where there are several, of which none can be chosen. */
  readonly decoded: string | undefined;
}

/** No text that is decoded to a header of the greatest length is longer. */
const CHARACTERS_MAX = 4 * LIMITS.authHeaderCharactersMax;

/** A pair; the padding of a bare Base64 text (`c2VjcmV0==`) is no value. */
const PAIR = /^[\t ]*([A-Za-z][A-Za-z0-9-]{0,63})[\t ]*=[\t ]*([^=\t ,][^,]*?)[\t ]*$/;

/** Returns what a text in the form of OTEL_EXPORTER_OTLP_HEADERS stands for; undefined for a header as it is sent. */
export function pastedHeaders(text: string): PastedHeaders | undefined {
  if (text.length > CHARACTERS_MAX) return undefined;
  const pairs = text.split(',').filter((pair) => pair.trim() !== '');
  const headers = pairs.map((pair) => headerOf(pair));
  const names = headers.flatMap((header) => header?.name ?? []);
  const [first, ...others] = headers;
  if (!first || names.length !== headers.length) return undefined;
  return { names, decoded: others.length === 0 ? first.decoded : undefined };
}

function headerOf(pair: string): { readonly name: string; readonly decoded: string } | undefined {
  const [, name, encoded] = PAIR.exec(pair) ?? [];
  const value = encoded === undefined ? undefined : percentDecoded(encoded);
  if (name === undefined || value === undefined || value.trim() === '') return undefined;
  // Authorization is the header of a value without a name, unless that looks as if it had one.
  const isBare = name.toLowerCase() === 'authorization' && collectorHeaders(value)['Authorization'] === value;
  const decoded = isBare ? value : `${name}: ${value}`;
  const isSent = authHeaderFault(decoded) === undefined && Object.values(collectorHeaders(decoded))[0] === value;
  return isSent ? { name, decoded } : undefined;
}

/** Undefined where a percent sign stands alone, or the bytes are no UTF-8. */
function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
