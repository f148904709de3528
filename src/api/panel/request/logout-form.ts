import type { IncomingMessage } from 'node:http';

const FORM_BYTES_MAX = 65_536;

/** The `logout_token` of a form that the provider posts; undefined where there is none, or the form is too large. */
export async function readLogoutForm(request: IncomingMessage): Promise<string | undefined> {
  const type = (request.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase();
  if (type !== 'application/x-www-form-urlencoded') return undefined;
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > FORM_BYTES_MAX) return undefined;
    pieces.push(piece);
  }
  return new URLSearchParams(Buffer.concat(pieces).toString()).get('logout_token') ?? undefined;
}
