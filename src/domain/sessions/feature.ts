import { removeEndedSessions } from './ended-sessions.ts';

export const sessions = { sweeps: { sessions: removeEndedSessions } };
