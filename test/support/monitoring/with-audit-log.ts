import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Without an audit file, some series of the leader do not exist. The file lasts as long as what is opened. */
export function withAuditLog(opened: AsyncDisposableStack): { readonly MUSTER_AUDIT_LOG: string } {
  const folder = mkdtempSync(join(tmpdir(), 'muster-audit-'));
  opened.defer(() => rmSync(folder, { recursive: true, force: true }));
  return { MUSTER_AUDIT_LOG: join(folder, 'audit.jsonl') };
}
