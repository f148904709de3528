import type { Socket } from 'node:net';

/*
 * The headers by which no answer of any listener does harm in a browser: what it is named is what it is (`nosniff`), it
 * loads nothing and is framed by nobody, and its origin is never asked by plain HTTP again. They are prepared as flat
 * lists of names and values, since they go with every answer, a poll's 304 too.
 */

/** The headers of a kind of answer, for a connection without TLS and for one with it. */
export interface SafeHeaders {
  readonly plain: readonly string[];
  readonly encrypted: readonly string[];
}

/**
 * RFC 6797: a year. Neither `includeSubDomains` nor `preload`: which other names the installation has is not known
 * here.
 */
const HSTS = ['Strict-Transport-Security', 'max-age=31536000'] as const;

/** Prepares the headers of a kind of answer. @param policy its Content-Security-Policy @param more further headers */
function safeHeaders(policy: string, more: readonly string[] = []): SafeHeaders {
  const plain = ['X-Content-Type-Options', 'nosniff', 'Content-Security-Policy', policy, ...more];
  return { plain, encrypted: [...plain, ...HSTS] };
}

/** The headers of answers for programs, errors included. */
export const DATA_HEADERS = safeHeaders("default-src 'none'; frame-ancestors 'none'");

/**
 * Prepares the headers of pages and their files, which name what they load, and tell nobody where a link was followed
 * from.
 */
export const pageHeaders = (policy: readonly string[], more: readonly string[] = []): SafeHeaders =>
  safeHeaders(policy.join('; '), [
    'Referrer-Policy',
    'no-referrer',
    'Cross-Origin-Opener-Policy',
    'same-origin',
    'Cross-Origin-Resource-Policy',
    'same-origin',
    ...more,
  ]);

/** Whether the connection itself has TLS. */
export const isEncrypted = (socket: Socket): boolean => (socket as { readonly encrypted?: boolean }).encrypted === true;
