import { useState } from 'preact/hooks';
import { me as api, type ListedAccessToken } from '../../api/panel.ts';
import { useResource } from '../../hooks/use-resource.ts';
import { useSession } from '../../shell/session.tsx';
import { accessTokens as texts } from '../../text/access-tokens.ts';
import { roleName } from '../../text/common.ts';
import { Button } from '../../ui/controls.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Card, Name, Time } from '../../ui/page.tsx';
import { Shown } from '../../ui/state.tsx';
import { inNumericOrder } from '../../ui/table-order.ts';
import { Table } from '../../ui/table.tsx';
import { CreateToken } from './create-token.tsx';

/** The access tokens of the user: made, shown once, and revoked. */
export function AccessTokensCard() {
  const { say } = useSession();
  const tokens = useResource('access tokens', (signal) => api.accessTokens({ signal }), { topics: ['me'] });
  const [isCreating, setCreating] = useState(false);
  const [ending, setEnding] = useState<ListedAccessToken>();
  const { columns } = texts;
  return (
    <Card title={texts.title}>
      <div class="stack">
        <p class="quiet">{texts.lead}</p>
        <div>
          <Button onClick={() => setCreating(true)}>{texts.create}</Button>
        </div>
        <Shown of={tokens} lines={2}>
          {({ accessTokens: list }) =>
            list.length === 0 ? (
              <p class="quiet">{texts.none}</p>
            ) : (
              <Table
                caption={texts.caption}
                rows={list}
                idOf={({ tokenId }) => tokenId}
                orderIn="tokens"
                keptAs="access tokens"
                columns={[
                  {
                    name: columns.name,
                    names: true,
                    by: ({ name }) => inNumericOrder(name),
                    cell: ({ name }) => <Name>{name}</Name>,
                  },
                  {
                    name: columns.account,
                    by: ({ accountName }) => inNumericOrder(accountName),
                    cell: ({ accountName, accountId }) => <Name otherwise={accountId}>{accountName}</Name>,
                  },
                  { name: columns.role, by: ({ role }) => role, cell: ({ role }) => roleName(role) },
                  {
                    name: columns.expires,
                    by: ({ expiresAt }) => expiresAt,
                    cell: ({ expiresAt }) => <Time at={expiresAt} />,
                  },
                  {
                    name: columns.lastUsed,
                    by: ({ lastUsedAt }) => lastUsedAt,
                    cell: ({ lastUsedAt }) => <Time at={lastUsedAt} />,
                  },
                  {
                    name: columns.actions,
                    unseen: true,
                    cell: (token) => (
                      <Button
                        small
                        kind="danger"
                        aria-label={texts.revokeOne(token.name)}
                        onClick={() => setEnding(token)}
                      >
                        {texts.revoke}
                      </Button>
                    ),
                  },
                ]}
              />
            )
          }
        </Shown>
      </div>
      {isCreating && <CreateToken onClose={() => setCreating(false)} onCreated={tokens.reload} />}
      {ending && (
        <Confirm
          title={texts.revokeTitle}
          action={texts.revoke}
          work={async () => {
            await api.revokeAccessToken(ending.tokenId);
            say(texts.revoked);
            tokens.reload();
          }}
          onClose={() => setEnding(undefined)}
        >
          <p>
            <Name otherwise={ending.tokenId}>{ending.name}</Name>
          </p>
          <p>{texts.revokeSays}</p>
        </Confirm>
      )}
    </Card>
  );
}
