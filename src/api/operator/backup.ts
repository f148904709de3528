import type { Backups } from '../../domain/backup/backup.ts';
import { BACKUP_MEDIA_TYPE } from '../../domain/backup/file-format.ts';
import { readBackup } from '../contract/operator/service.ts';
import type { Exchange } from '../http/exchange.ts';

/**
 * Streams a backup; it is no `OperatorRoute` since it has no deadline but `LIMITS.streamStalledMs` for each piece. With
 * `?count=true` the header says how many entries follow. It is `overloaded` while another backup is under way.
 * @throws StoreUnavailable
 */
export async function sendBackup(
  exchange: Exchange,
  actor: string,
  query: URLSearchParams,
  backups: Backups,
): Promise<void> {
  exchange.route = readBackup.path;
  const judged = readBackup.query?.safeParse(Object.fromEntries(query));
  if (judged?.success === false) return exchange.refuse('invalid_request', 'count: true or false.');
  if (exchange.request.method === 'HEAD') return exchange.reply({ status: 200, headers: CONTENT });
  const backup = await backups.begin({
    counted: query.get('count') === 'true',
    origin: exchange.origin(actor),
  });
  if (backup === 'busy') return exchange.refuse('overloaded', 'A backup is being made already: wait for its end.');
  await using begun = backup;
  await exchange.stream(CONTENT, begun.pieces());
}

const CONTENT = ['Content-Type', BACKUP_MEDIA_TYPE];
