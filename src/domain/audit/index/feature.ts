import { cutOldSegments } from './old-segments.ts';

export const auditIndex = { sweeps: { audit_segments: cutOldSegments } };
