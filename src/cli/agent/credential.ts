import { hash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { AgentFault } from './surroundings.ts';

/*
 * The credential and the file that keeps it. The daemon makes its credential itself and has it on the disk before it
 * asks for anything: whenever it is killed, it knows afterwards with which credential it may have enrolled.
 */

export interface Identity {
  /**
   * The app that it enrolls as; undefined for a credential that lies in its file alone, as others may have put it
   * there.
   */
  readonly appId: string | undefined;
  readonly credential: string;
  /** The service has bound the credential, as far as this file knows. */
  readonly enrolled: boolean;
}

const CREDENTIAL = /^mst_dev_[A-Za-z0-9_-]{43,128}$/;
const APP_ID = /^[a-z0-9]{20}$/;
const CREDENTIAL_BYTES = 32;
const FILE_BYTES_MAX = 4096;
/** The permissions of everybody but the owner. */
const OTHERS = 0o077;

/** 256 bits that nobody can guess. */
export const makeCredential = (randomBytes: (count: number) => Buffer): string =>
  `mst_dev_${randomBytes(CREDENTIAL_BYTES).toString('base64url')}`;

/** The service keeps this of it: SHA-256 in 64 hex digits. */
export const credentialHash = (credential: string): string => hash('sha256', credential);

export const identityText = ({ appId, credential, enrolled }: Identity): string =>
  `${JSON.stringify({ appId, credential, enrolled }, undefined, 2)}\n`;

/**
 * Reads the file of a credential: that of `identityText`, or a credential alone, which counts as enrolled. Undefined
 * where there is no file.
 * @throws AgentFault where others can read the file, or it holds something else; the system's error
 */
export async function readIdentity(path: string): Promise<Identity | undefined> {
  const text = await privateText(path);
  if (text === undefined) return undefined;
  const bare = text.trim();
  if (CREDENTIAL.test(bare)) return { appId: undefined, credential: bare, enrolled: true };
  const { appId, credential, enrolled } = parsed(text);
  const isApp = appId === undefined || (typeof appId === 'string' && APP_ID.test(appId));
  if (!isApp || typeof credential !== 'string' || !CREDENTIAL.test(credential) || typeof enrolled !== 'boolean') {
    // It never says what stands there.
    throw new AgentFault('usage', `${path} is no credential file: name another one, or remove it to enroll anew.`);
  }
  return { appId, credential, enrolled };
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

async function privateText(path: string): Promise<string | undefined> {
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (!file) return undefined;
  try {
    const { mode } = await file.stat();
    if ((mode & OTHERS) !== 0) {
      throw new AgentFault('usage', `${path} must be for its owner alone, since it is a secret: chmod 600 ${path}`);
    }
    const { bytesRead, buffer } = await file.read(Buffer.alloc(FILE_BYTES_MAX), 0, FILE_BYTES_MAX, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}
