import type { Address } from './address.ts';
import { samplesOf, type Sample } from './exposition.ts';
import { fetchTo } from './fetch-to.ts';

/** The facts that a service tells of itself by `/metrics`, which takes no secret. */
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

interface Asking {
  readonly timeoutMs: number;
  readonly requestId?: string | undefined;
}

/** @returns undefined where a stranger answers. @throws whatever `fetch` throws where nobody does */
export async function toldBy(address: Address, { timeoutMs, requestId }: Asking): Promise<Told | undefined> {
  const answer = await fetchTo(address)(`${address.url}/metrics`, {
    redirect: 'error',
    headers: requestId === undefined ? {} : { 'x-request-id': requestId },
    signal: AbortSignal.timeout(timeoutMs),
  });
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
