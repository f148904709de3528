import { MusterError, OperatorClient, OwnerClient, type RetryEvent } from '#client';
import type { Invocation } from '../terminal/invocation.ts';
import { connectionTo, type Connection } from './connection.ts';
import { fetchTo } from './fetch-to.ts';
import { answerText } from './told.ts';
import { BAD_PORT, unreachable } from './unreachable.ts';

/** How a command meets a service that is not there. */
interface Patience {
  /**
   * A long command goes on when the service is back; without it, a service that does not listen ends the command at
   * once.
   */
  readonly patient?: boolean;
}

/** The client of `/v1`: one for a whole command, since it paces what it sends. @throws ConfigError; CommandFault */
export function ownerOf(call: Invocation, patience: Patience = {}): OwnerClient {
  const connection = connectionTo('api', call);
  return new OwnerClient({ ...optionsOf(call, connection, patience), apiKey: () => connection.token.reveal() });
}

/** The client of the operator API. @throws ConfigError; CommandFault */
export function operatorOf(call: Invocation, patience: Patience = {}): OperatorClient {
  const connection = connectionTo('ops', call);
  return new OperatorClient({ ...optionsOf(call, connection, patience), token: () => connection.token.reveal() });
}

/** The options of every request of a command. */
export const requestOf = ({ globals }: Invocation): { readonly requestId: string | undefined } => ({
  requestId: globals.requestId,
});

/** The refusals of a secret that Muster itself answers: anybody may listen at a wrong address, and ask for others. */
const REFUSED = { invalid_key: 'API key', invalid_token: 'operator token' } as const;

/** A secret comes from one of several places: its refusal says which one to look at. */
function tellingWhose({ url, tokenFrom }: Connection, own: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await own(input, init);
    if (response.status !== 401) return response;
    const { headers, status } = response;
    const text = (await answerText(response)) ?? '';
    const code = (Object.keys(REFUSED) as (keyof typeof REFUSED)[]).find((one) => text.includes(`"${one}"`));
    if (code === undefined) return new Response(text, { status, headers });
    throw new MusterError(`${url} does not take the ${REFUSED[code]}: replace it where it is from, ${tokenFrom}.`, {
      code,
      status,
      requestId: new Headers(init?.headers).get('x-request-id') ?? '',
    });
  };
}

const TOLD_AFTER_MS = 2000;

function optionsOf(call: Invocation, connection: Connection, { patient = false }: Patience) {
  const { url, timeoutMs } = connection;
  return {
    url,
    ...(timeoutMs !== undefined && { timeoutMs }),
    fetch: tellingWhose(connection, namingAddress(connection, patient)),
    onRetry: ({ waitMs, error }: RetryEvent) => {
      if (waitMs >= TOLD_AFTER_MS) call.say(`${error.message} Trying again in ${Math.ceil(waitMs / 1000)} s.`);
    },
  };
}

/* Failures that a repetition would only meet again: nobody listens, the name or the certificate is wrong, or no TLS. */
const LASTING = /^(?:ECONNREFUSED|ENOTFOUND|EHOSTUNREACH|ERR_PROXY_TUNNEL)/;
const TLS = /^(?:EPROTO$|ERR_SSL_|ERR_TLS_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;
/** Failures to reach a service that may pass by themselves. */
const PASSING = /^(?:EAI_AGAIN|ENETUNREACH|ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)/;

/** The client's own words of a service that is not reached tell neither the address nor where it is from. */
function namingAddress(connection: Connection, patient: boolean): typeof fetch {
  const own = fetchTo(connection);
  // A certificate that has expired since is renewed; what was never right does not become so.
  let wasReached = false;
  return async (input, init) => {
    try {
      const answer = await own(input, init);
      wasReached = true;
      return answer;
    } catch (error) {
      const { code: told, message } = ((error as Error).cause ?? {}) as { code?: unknown; message?: unknown };
      const slip = typeof told === 'string' ? told : '';
      const isOfTls = TLS.test(slip);
      const isLasting = slip === '' ? message === BAD_PORT : isOfTls || LASTING.test(slip);
      if (!isLasting && !PASSING.test(slip)) throw error;
      // A call that ends with `network` is sent again; but to such a port nothing ever is.
      const isFinal = isLasting && (!patient || slip === '' || (isOfTls && !wasReached));
      const code = isFinal ? 'unreachable' : 'network';
      throw new MusterError(unreachable(connection, error), { code, cause: error });
    }
  };
}
