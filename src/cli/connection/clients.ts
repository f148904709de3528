import { MusterError, OperatorClient, OwnerClient, type RetryEvent } from '#client';
import type { Invocation } from '../terminal/invocation.ts';
import { connectionTo, type Connection } from './connection.ts';
import { fetchNamed } from './unreachable.ts';
import { answerText } from './told.ts';

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
    fetch: tellingWhose(connection, fetchNamed(connection, patient)),
    onRetry: ({ waitMs, error }: RetryEvent) => {
      if (waitMs >= TOLD_AFTER_MS) call.say(`${error.message} Trying again in ${Math.ceil(waitMs / 1000)} s.`);
    },
  };
}
