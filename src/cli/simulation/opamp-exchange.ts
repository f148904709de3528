import { MusterError } from '#client';
import { ServerErrorResponseType, type ServerToAgent } from '../../opamp/generated/opamp_pb.ts';
import { OPAMP_TYPE, readAnswer } from '../../opamp/messages.ts';

/** The target of messages, their credential, and their form. */
interface Endpoint {
  /** The whole URL. */
  readonly url: string;
  /** The device credential. */
  readonly credential: string;
  readonly fetch: typeof fetch;
}

/** As the client of the device plane waits for an answer. */
const ANSWER_MS = 15_000;

/**
 * Sends a message once over the plain HTTP transport of OpAMP, and reads the answer.
 * @throws MusterError `network`, `timeout`, `aborted`; with the status of an answer that refuses, and its Retry-After
 * in seconds; `bad_answer` for an answer that is no message, `bad_request` or `unavailable` for one that says so
 */
export async function exchange(endpoint: Endpoint, message: Uint8Array, signal: AbortSignal): Promise<ServerToAgent> {
  const { url, credential, fetch } = endpoint;
  const [response, bytes] = await answered(signal, async (bound) => {
    const got = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': OPAMP_TYPE, authorization: `Bearer ${credential}` },
      body: Buffer.from(message),
      // A redirect is not followed: the credential is for this address alone.
      redirect: 'manual',
      signal: bound,
    });
    return [got, new Uint8Array(await got.arrayBuffer())] as const;
  });
  if (response.status !== 200) throw refusal(response, bytes);
  const answer = messageIn(bytes);
  const { errorResponse } = answer;
  if (!errorResponse) return answer;
  const isTemporary = errorResponse.type === ServerErrorResponseType.UNAVAILABLE;
  throw new MusterError(errorResponse.errorMessage, { code: isTemporary ? 'unavailable' : 'bad_request', status: 200 });
}

async function answered<Answer>(signal: AbortSignal, send: (bound: AbortSignal) => Promise<Answer>): Promise<Answer> {
  const late = AbortSignal.timeout(ANSWER_MS);
  try {
    return await send(AbortSignal.any([signal, late]));
  } catch (error) {
    const code = signal.aborted ? 'aborted' : late.aborted ? 'timeout' : 'network';
    throw new MusterError('The message had no answer.', { code, cause: error, mayBeDone: true });
  }
}

function refusal({ status, headers }: Response, bytes: Uint8Array): MusterError {
  const after = headers.get('retry-after') ?? '';
  const retryAfterSeconds = /^\d{1,6}$/.test(after) ? Number(after) : undefined;
  const code = /^\{"error":\{"code":"([a-z_]{1,40})"/.exec(Buffer.from(bytes).toString('latin1', 0, 1000))?.[1];
  return new MusterError(`The message was refused with ${status}.`, {
    code: code ?? 'bad_answer',
    status,
    retryAfterSeconds,
  });
}

function messageIn(bytes: Uint8Array): ServerToAgent {
  try {
    return readAnswer(bytes);
  } catch (error) {
    throw new MusterError('The answer is no message of OpAMP.', { code: 'bad_answer', status: 200, cause: error });
  }
}
