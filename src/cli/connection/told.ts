import type { Address } from './address.ts';
import { samplesOf, type Sample } from './exposition.ts';

/** What a service tells of itself by `/metrics`, which takes no secret. */
export interface Told {
  readonly version: string;
  readonly node: string;
  /**
   * When the store was as the last backup has it, in milliseconds since 1970; undefined where the replica that was asked
   * does not lead, and 0 where there is no backup.
   */
  readonly lastBackupAt: number | undefined;
}

export interface Asking {
  readonly timeoutMs: number;
  readonly requestId?: string | undefined;
}

/** @returns undefined where a stranger answers. @throws whatever `fetch` throws where nobody does */
export async function toldBy({ url }: Address, { timeoutMs, requestId }: Asking): Promise<Told | undefined> {
  const answer = await fetch(`${url}/metrics`, {
    redirect: 'error',
    headers: requestId === undefined ? {} : { 'x-request-id': requestId },
    signal: AbortSignal.timeout(timeoutMs),
  });
  const samples = samplesOf(await answer.text());
  const named = (name: string): Sample | undefined => samples.find((sample) => sample.name === name);
  const build = named('muster_build_info')?.labels;
  if (!build) return undefined;
  const backup = named('muster_backup_last_timestamp_seconds')?.value;
  return {
    version: build.get('version') ?? '',
    node: (build.get('node') ?? '').replace(/^v/, ''),
    lastBackupAt: backup === undefined || Number.isNaN(backup) ? undefined : backup * 1000,
  };
}
