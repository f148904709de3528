import { cutOldPages } from './old-pages.ts';

export const auditIndex = { sweeps: { audit_index_pages: cutOldPages } };
