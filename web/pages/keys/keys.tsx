import { useState } from 'preact/hooks';
import { useNew } from '../../address/use-new.ts';
import { account, type ListedApiKey } from '../../api/panel.ts';
import { useResource } from '../../hooks/use-resource.ts';
import type { PageProps } from '../../shell/page-props.ts';
import { useIsOwner, useMay } from '../../shell/rights.ts';
import { useSession } from '../../shell/session.tsx';
import { keys as texts } from '../../text/keys.ts';
import { Button } from '../../ui/controls.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Card, Name, Page, Time } from '../../ui/page.tsx';
import { Empty, Shown } from '../../ui/state.tsx';
import { CreateKey } from './create-key.tsx';
import { ExpireKey } from './expire-key.tsx';
import { KEY_CHANGES, KeyTable, type KeyChange } from './key-table.tsx';
import { NarrowKey } from './narrow-key.tsx';
import { RotateKey } from './rotate-key.tsx';

/** The API keys of the account: created, shown once, rotated, brought to an end. */
export function KeysPage({ accountId }: PageProps) {
  const keys = useResource(`keys ${accountId}`, (signal) => account(accountId).keys({ signal }), {
    of: accountId,
    topics: ['keys'],
  });
  const isOwner = useIsOwner(accountId);
  const may = useMay(accountId);
  const changes = KEY_CHANGES.filter((one) => may(KEY_OPERATIONS[one]));
  const [isCreating, setCreating] = useNew('key');
  const [changing, setChanging] = useState<{ readonly change: KeyChange; readonly apiKey: ListedApiKey }>();
  const create = (
    <Button kind="primary" onClick={() => setCreating(true)}>
      {texts.create}
    </Button>
  );
  return (
    <Page title={texts.title} lead={texts.lead} actions={isOwner ? create : undefined}>
      <Shown of={keys}>
        {({ apiKeys }) => (
          <Card flush>
            {apiKeys.length === 0 ? (
              <Empty title={texts.empty}>
                <p class="quiet">{texts.emptyLead}</p>
                {isOwner && create}
              </Empty>
            ) : (
              <div class="short-names">
                <KeyTable
                  accountId={accountId}
                  keys={apiKeys}
                  changes={changes}
                  onChange={(change, apiKey) => setChanging({ change, apiKey })}
                />
              </div>
            )}
          </Card>
        )}
      </Shown>
      {isCreating && isOwner && (
        <CreateKey accountId={accountId} onClose={() => setCreating(false)} onCreated={keys.reload} />
      )}
      {changing && changes.includes(changing.change) && (
        <ChangeDialog
          accountId={accountId}
          {...changing}
          onClose={() => setChanging(undefined)}
          onChanged={keys.reload}
        />
      )}
    </Page>
  );
}

/** The operation by which each change is made. */
const KEY_OPERATIONS: Readonly<Record<KeyChange, string>> = {
  rotate: 'rotateApiKey',
  endOverlap: 'endFormerSecret',
  expire: 'changeApiKey',
  narrow: 'changeApiKey',
  revoke: 'revokeApiKey',
};

interface ChangeDialogProps {
  readonly accountId: string;
  readonly change: KeyChange;
  readonly apiKey: ListedApiKey;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

function ChangeDialog({ accountId, change, apiKey, onClose, onChanged }: ChangeDialogProps) {
  const { say } = useSession();
  if (change === 'rotate') return <RotateKey {...{ accountId, apiKey, onClose, onChanged }} />;
  if (change === 'expire') return <ExpireKey {...{ accountId, apiKey, onClose, onChanged }} />;
  if (change === 'narrow') return <NarrowKey {...{ accountId, apiKey, onClose, onChanged }} />;
  const ending = change === 'revoke' ? REVOKE : END_OVERLAP;
  return (
    <Confirm
      title={ending.title}
      action={ending.action}
      work={async () => {
        await ending.end(account(accountId), apiKey);
        say(ending.done);
        onChanged();
      }}
      onClose={onClose}
    >
      <p>
        <Name otherwise={apiKey.keyId}>{apiKey.name}</Name>
      </p>
      <p>{ending.says}</p>
      <p>
        {texts.usedLast} <Time at={apiKey.lastUsedAt} />
      </p>
    </Confirm>
  );
}

type Api = ReturnType<typeof account>;
const REVOKE = {
  title: texts.revokeTitle,
  action: texts.revoke,
  says: texts.revokeSays,
  done: texts.revoked,
  end: (api: Api, { keyId }: ListedApiKey) => api.revokeKey(keyId),
};
const END_OVERLAP = {
  title: texts.endOverlapTitle,
  action: texts.endOverlap,
  says: texts.endOverlapSays,
  done: texts.overlapEnded,
  end: (api: Api, { keyId, formerExpiresAt }: ListedApiKey) => api.endKeyOverlap(keyId, formerExpiresAt ?? ''),
};
