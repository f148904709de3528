import type { Origin } from '../../domain/mutation/step.ts';
import type { Backups } from '../../domain/backup/backup.ts';
import { BACKUP_MEDIA_TYPE } from '../../domain/backup/file-format.ts';
import { readBackup } from '../contract/operator/service.ts';
import type { Exchange } from '../http/exchange.ts';

/**
 * Streams a backup; it is no `OperatorRoute` since it has no deadline but that its client takes something of it. With
 * `?count=true` the header says how many entries follow. It is `overloaded` while another backup is under way.
 * @param disposition the Content-Disposition field, for a browser that saves it
 * @throws StoreUnavailable
 */
export async function sendBackup(
  exchange: Exchange,
  origin: Origin,
  query: URLSearchParams,
  backups: Backups,
  disposition?: string,
): Promise<void> {
  const judged = readBackup.query?.safeParse(Object.fromEntries(query));
  if (judged?.success === false) return exchange.refuse('invalid_request', 'count: true or false.');
  if (exchange.request.method === 'HEAD') return exchange.reply({ status: 200, headers: CONTENT });
  const backup = await backups.begin({ counted: query.get('count') === 'true', origin });
  if (backup === 'busy') return exchange.refuse('overloaded', 'A backup is being made already: wait for its end.');
  await using begun = backup;
  const headers = disposition === undefined ? CONTENT : [...CONTENT, 'Content-Disposition', disposition];
  await exchange.stream(headers, begun.pieces());
}

const CONTENT = ['Content-Type', BACKUP_MEDIA_TYPE];
