import { ConfigError } from '../../config/files/config-error.ts';
import { CommandFault, EXIT } from '../terminal/exit.ts';
import type { Invocation } from '../terminal/invocation.ts';
import type { Address } from './address.ts';
import { connectionTo, isKnown } from './connection.ts';
import { samplesOf, type Sample } from './exposition.ts';
import { fetchTo } from './fetch-to.ts';

/** The facts that a service tells of itself by `/metrics`. */
export interface Told {
  readonly version: string;
  readonly node: string;
  /**
   * The instant at which the store was as the last backup has it, in milliseconds since 1970; undefined where the
   * replica that was asked does not lead, and 0 where there is no backup.
   */
  readonly lastBackupAt: number | undefined;
  /** Files and connections that its process may have open at once; undefined where its system does not tell. */
  readonly openFilesMax: number | undefined;
}

/**
 * Asks for the metrics of a service without a secret first: an operator token is sent only where the service asks for
 * one.
 * @throws whatever `fetch` throws where nobody answers
 */
export async function scraped(call: Invocation, address: Address, timeoutMs: number): Promise<Response> {
  const { requestId } = call.globals;
  const ask = (secret: Readonly<Record<string, string>> = {}): Promise<Response> =>
    fetchTo(address)(`${address.url}/metrics`, {
      redirect: 'error',
      headers: { ...(requestId !== undefined && { 'x-request-id': requestId }), ...secret },
      signal: AbortSignal.timeout(timeoutMs),
    });
  const answer = await ask();
  const token = answer.status === 401 ? tokenOf(call) : undefined;
  if (token === undefined) return answer;
  await answer.body?.cancel();
  return await ask({ authorization: `Bearer ${token}` });
}

/** The operator token for that service; undefined where none is set, or its address stands on the line alone. */
function tokenOf(call: Invocation): string | undefined {
  try {
    return isKnown('ops', call) ? connectionTo('ops', call).token.reveal() : undefined;
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}

/**
 * @returns undefined where a stranger answers
 * @throws CommandFault where the service asks for a token that is not set; whatever `fetch` throws where nobody answers
 */
export async function toldBy(call: Invocation, address: Address, timeoutMs: number): Promise<Told | undefined> {
  const answer = await scraped(call, address, timeoutMs);
  if (answer.status === 401 || answer.status === 403) {
    throw new CommandFault(
      `${address.url}/metrics takes an operator token of a role that reads it: set one for this service.`,
      EXIT.notAuthorised,
    );
  }
  const samples = samplesOf((await answerText(answer)) ?? '');
  const named = (name: string): Sample | undefined => samples.find((sample) => sample.name === name);
  const build = named('muster_build_info')?.labels;
  if (!build) return undefined;
  const backup = named('muster_backup_last_timestamp_seconds')?.value;
  return {
    version: build.get('version') ?? '',
    node: (build.get('node') ?? '').replace(/^v/, ''),
    openFilesMax: named('process_max_fds')?.value,
    lastBackupAt: backup === undefined || Number.isNaN(backup) ? undefined : backup * 1000,
  };
}

/** A probe has a line, and a scrape of the largest service some hundred KiB. */
const BYTES_MAX = 4 * 1024 * 1024;

/**
 * The text of an answer that no client reads, such as that of a probe: anybody may listen at a wrong address.
 * @returns undefined where it has more than 4 MiB; the rest is not read. @throws whatever breaks it off
 */
export async function answerText({ body }: Response): Promise<string | undefined> {
  if (!body) return '';
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  // Leaving the loop cancels the stream.
  for await (const piece of body as ReadableStream<Uint8Array>) {
    bytes += piece.length;
    if (bytes > BYTES_MAX) return undefined;
    text += decoder.decode(piece, { stream: true });
  }
  return text + decoder.decode();
}

/** The content of the JSON of such an answer; undefined where it is too large, broken off, or none. */
export async function answerJson(response: Response): Promise<unknown> {
  try {
    return JSON.parse((await answerText(response)) ?? '') as unknown;
  } catch {
    return undefined;
  }
}
