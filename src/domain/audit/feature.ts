import { cutOldAudit } from './old-audit.ts';

export const audit = { sweeps: { audit_entries: cutOldAudit } };
