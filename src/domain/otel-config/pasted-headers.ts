import { LIMITS } from '../limits.ts';
import { authHeaderFault, collectorHeaders } from './collector-header.ts';

/*
 * Vendors of collectors give the header in the form of OTEL_EXPORTER_OTLP_HEADERS (OpenTelemetry's "Protocol Exporter":
 * `name=value` pairs, separated by commas, values percent-encoded as in W3C Baggage). Pasted where one header is meant,
 * it would reach the collector as it stands. `/v1` stores what it is given; the panel and the command line ask. The
 * variable may stand before it, as in a shell, a Dockerfile or a Compose file, and a file may have a pair on each line.
 */

/** The header that a text in that form stands for. */
interface PastedHeaders {
  /** The names of its headers, as they were typed: one or more. */
  readonly names: readonly string[];
  /** The same header as a daemon is to send it; undefined where there are several, of which none can be chosen. */
  readonly decoded: string | undefined;
}

/** No text that is decoded to a header of the greatest length is longer. */
const CHARACTERS_MAX = 4 * LIMITS.authHeaderCharactersMax;

const VARIABLE = /^(?:(?:export|set|ENV|-)[\t ]+|\$env:)?OTEL_EXPORTER_OTLP_(?:[A-Z]+_)?HEADERS[\t ]*[=:][\t ]*/i;
const QUOTED = /^(["'])(.*)\1$/s;
/** A pair, also of a name that no daemon sends; the padding of a bare Base64 text (`c2VjcmV0==`) is no value. */
const PAIR = /^([A-Za-z][\w.-]{0,63})[\t ]*=[\t ]*([^=\t ].*)$/;

/** Returns what a text in the form of OTEL_EXPORTER_OTLP_HEADERS stands for; undefined for a header as it is sent. */
export function pastedHeaders(text: string): PastedHeaders | undefined {
  if (text.length > CHARACTERS_MAX) return undefined;
  const list = text.trim().replace(VARIABLE, '').replace(QUOTED, '$2');
  const texts = list.split(/[,\r\n]/).map((pair) => pair.trim());
  const pairs = texts.filter((pair) => pair !== '');
  const headers = pairs.flatMap((pair) => headerOf(pair) ?? []);
  // One that can be sent shows the form; what is no pair shows that it is another one.
  if (headers.length < pairs.length || headers.every(({ decoded }) => decoded === undefined)) return undefined;
  return { names: headers.map(({ name }) => name), decoded: headers.length === 1 ? headers[0]?.decoded : undefined };
}

/** The name of a pair, and its header where a daemon can send it; undefined for what is no pair. */
function headerOf(pair: string): { readonly name: string; readonly decoded: string | undefined } | undefined {
  const [, name, encoded] = PAIR.exec(pair) ?? [];
  if (name === undefined || encoded === undefined) return undefined;
  return { name, decoded: decodedOf(name, encoded) };
}

function decodedOf(name: string, encoded: string): string | undefined {
  // Quotation marks of the value itself are percent-encoded.
  const value = percentDecoded(encoded.replace(/^"(.*)"$/, '$1'));
  if (value === undefined || value.trim() === '') return undefined;
  // Authorization is the header of a value without a name, unless that looks as if it had one.
  const isBare = name.toLowerCase() === 'authorization' && collectorHeaders(value)['Authorization'] === value;
  const decoded = isBare ? value : `${name}: ${value}`;
  const isSent = authHeaderFault(decoded) === undefined && Object.values(collectorHeaders(decoded))[0] === value;
  return isSent ? decoded : undefined;
}

/** Undefined where a percent sign stands alone, or the bytes are no UTF-8. */
function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
