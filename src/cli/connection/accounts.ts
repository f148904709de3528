import { MusterError, type Account, type OperatorClient } from '#client';
import { CommandFault, EXIT } from '../terminal/exit.ts';

const ID = /^[a-z0-9]{16}$/;
/** More would not help anybody to choose. */
const IDS_TOLD_MAX = 10;

/**
 * The account of an id, or else of a name, which many may have.
 * @throws CommandFault with exit code 4 where there is none, and 2 with the ids where there are several; MusterError
 */
export async function accountNamed(
  operator: OperatorClient,
  text: string,
  options: { readonly requestId?: string | undefined } = {},
): Promise<Account> {
  const byId = ID.test(text) ? await operator.readAccount(text, options).catch(unlessUnknown) : undefined;
  if (byId) return byId;
  const named: Account[] = [];
  for await (const account of operator.accounts({ limit: 1000 }, options)) {
    if (account.name === text) named.push(account);
  }
  const [account] = named;
  if (!account) throw new CommandFault(`No account has the id or the name ${text}.`, EXIT.notFound);
  if (named.length === 1) return account;
  const ids = named.slice(0, IDS_TOLD_MAX).map(({ accountId }) => accountId);
  const more = named.length > ids.length ? ` and ${named.length - ids.length} more` : '';
  throw new CommandFault(
    `${named.length} accounts have the name ${text}: say which by its id: ${ids.join(', ')}${more}.`,
    EXIT.usage,
  );
}

function unlessUnknown(error: unknown): undefined {
  if (error instanceof MusterError && error.code === 'not_found') return undefined;
  throw error;
}
