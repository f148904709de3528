import type { Origin } from '../../domain/mutation/step.ts';
import type { Backups } from '../../domain/backup/backup.ts';
import { BACKUP_MEDIA_TYPE } from '../../domain/backup/file-format.ts';
import * as operations from '../contract/operator/service.ts';
import { HttpRefusal } from '../http/errors.ts';
import { handle } from './route.ts';

/** GET /operator/v1/backup. */
export const readBackup = handle(operations.readBackup)((call, { backups }) => backupOf(call, backups));

/**
 * Streams a backup. With `?count=true` the header says how many entries follow. It is `overloaded` while another backup
 * is under way.
 * @param more further headers, as for a browser that saves it
 */
export function backupOf(
  {
    origin,
    query: { count = false },
  }: { readonly origin: Origin; readonly query: { readonly count?: boolean | undefined } },
  backups: Backups,
  more: readonly string[] = [],
) {
  const begin = async () => {
    const backup = await backups.begin({ counted: count, origin });
    if (backup !== 'busy') return backup;
    throw new HttpRefusal('overloaded', [], 'A backup is being made already: wait for its end.');
  };
  return { status: 200, headers: ['Content-Type', BACKUP_MEDIA_TYPE, ...more], stream: begin } as const;
}
