import { useState } from 'preact/hooks';
import type { MadeApiKeys } from '../api/panel.ts';
import { useResource } from '../hooks/use-resource.ts';
import { useSession } from '../shell/session.tsx';
import { accessTokens as tokens } from '../text/access-tokens.ts';
import { keys as texts } from '../text/keys.ts';
import { Check } from '../ui/controls.tsx';
import { Name, Time } from '../ui/page.tsx';
import { Shown } from '../ui/state.tsx';

/** The ids of the keys that somebody keeps, and how one of them changes. */
export interface KeptKeys {
  readonly ids: readonly string[];
  readonly set: (keyId: string, isKept: boolean) => void;
}

export function useKeptKeys(): KeptKeys {
  const [ids, setIds] = useState<readonly string[]>([]);
  return {
    ids,
    set: (keyId, isKept) => setIds((before) => [...before.filter((id) => id !== keyId), ...(isKept ? [keyId] : [])]),
  };
}

interface KeptKeysProps {
  readonly userId: string;
  readonly of: string;
  readonly read: (signal: AbortSignal) => Promise<MadeApiKeys>;
  readonly kept: KeptKeys;
  /** Whether the user may decide that some go on. */
  readonly mayKeep?: boolean;
  readonly showAccounts?: boolean;
}

type Told = Pick<MadeApiKeys['apiKeys'][number], 'keyId' | 'name' | 'accountName' | 'createdBy'>;

/**
 * The API keys that end with the right of who made them: each may be kept, but by nobody who goes by their own deed.
 */
export function EndingKeys({ userId, of, read, kept, mayKeep = true, showAccounts = false }: KeptKeysProps) {
  const isOwn = useSession().me.userId === userId;
  const made = useResource(`keys of ${userId}`, read, { of, topics: ['keys'] });
  const told = ({ keyId, name, accountName }: Told) => (
    <>
      <Name otherwise={texts.unnamed}>{name}</Name> <code>{keyId}</code> {showAccounts && <Name>{accountName}</Name>}
    </>
  );
  const ending = (key: Told) => (
    <>
      {told(key)} {key.createdBy !== `user:${userId}` && <span class="quiet">{texts.formerEnds}</span>}
    </>
  );
  const listed = (keys: readonly Told[], shown = told) => (
    <ul>
      {keys.map((key) => (
        <li key={key.keyId}>{shown(key)}</li>
      ))}
    </ul>
  );
  return (
    <Shown of={made} lines={2}>
      {({ apiKeys, accessTokens = [], ofNobodyKnown, more }) => (
        <>
          {accessTokens.length > 0 && (
            <>
              <p>{tokens.endingSays}</p>
              <ul>
                {accessTokens.map(({ tokenId, name, accountName }) => (
                  <li key={tokenId}>
                    <Name>{name}</Name> <code>{tokenId}</code> {showAccounts && <Name>{accountName}</Name>}
                  </li>
                ))}
              </ul>
            </>
          )}
          {apiKeys.length > 0 && (isOwn || !mayKeep) && (
            <>
              <p>{isOwn ? texts.endingOwnSays : texts.endingAllSays}</p>
              {listed(apiKeys, ending)}
            </>
          )}
          {apiKeys.length > 0 && !isOwn && mayKeep && (
            <fieldset class="stack">
              <legend>{texts.endingSays}</legend>
              {apiKeys.map((key) => (
                <Check
                  key={key.keyId}
                  label={<span class="row">{ending(key)}</span>}
                  hint={
                    <>
                      {texts.usedLast} <Time at={key.lastUsedAt} />
                    </>
                  }
                  checked={kept.ids.includes(key.keyId)}
                  onValue={(isKept) => kept.set(key.keyId, isKept)}
                />
              ))}
            </fieldset>
          )}
          {more && <p>{texts.moreSays}</p>}
          {ofNobodyKnown.length > 0 && (
            <>
              <p class="quiet">{texts.ofNobodyKnown}</p>
              {listed(ofNobodyKnown)}
            </>
          )}
        </>
      )}
    </Shown>
  );
}
