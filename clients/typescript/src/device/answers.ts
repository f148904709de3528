import { badAnswer, jsonOf, type Answer } from '../answers.ts';
import type { DeviceConfig, EnrollDeviceRequest, EnrolledDevice } from '../generated/device.ts';

/*
 * The answers that a daemon lives by. It is in networks that nobody knows, where a portal or a proxy may answer with
 * any object: what is none of the service's must not be carried out, or taken for an enrollment.
 */

/** The configuration in an answer. @throws MusterError `bad_answer` */
export async function configOf(answer: Answer): Promise<DeviceConfig> {
  const body = await jsonOf<DeviceConfig>(answer, 'revision');
  if (isConfig(body)) return body;
  throw badAnswer("The answer is no configuration, and not one of Muster's.", answer);
}

function isConfig({ revision, pollIntervalSeconds, otel }: Fields): boolean {
  if (!isCount(revision) || !isCount(pollIntervalSeconds) || !isObject(otel)) return false;
  const { enabled, endpoint, headers, evidenceLevel } = otel;
  if (typeof enabled !== 'boolean' || typeof endpoint !== 'string' || typeof evidenceLevel !== 'string') return false;
  return isObject(headers) && Object.values(headers).every((value) => typeof value === 'string');
}

type Fields = { readonly [Field in keyof DeviceConfig]?: unknown };

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The answer to an enrollment: of that app, and with a credential where the service makes it.
 * @throws MusterError `bad_answer`
 */
export async function enrolledOf(
  answer: Answer,
  { appId, credentialHash }: EnrollDeviceRequest,
): Promise<EnrolledDevice> {
  const body = await jsonOf<EnrolledDevice>(answer, 'appId');
  const isWhole = credentialHash !== undefined || typeof body.credential === 'string';
  if (body.appId === appId && isCount(body.pollIntervalSeconds) && isWhole) return body;
  throw badAnswer("The answer is not that of the enrollment, and not Muster's.", answer, { mayBeDone: true });
}

/** Compares as the service does: a proxy that compresses answers makes their tags weak, or adds a suffix to them. */
export const isSameTag = (one: string, other: string): boolean => opaque(one) === opaque(other);
const opaque = (tag: string): string => tag.replace(/^W\//, '').replace(/--?(?:gzip|br|zstd|deflate)"$/, '"');
