import { me as api, type OwnSession } from '../../api/panel.ts';
import { useAction } from '../../hooks/use-action.ts';
import { useResource } from '../../hooks/use-resource.ts';
import { useSession } from '../../shell/session.tsx';
import { me as texts } from '../../text/me.ts';
import { Badge, Button } from '../../ui/controls.tsx';
import { Card, Name, Time } from '../../ui/page.tsx';
import { Problem, Shown } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';

/** The browsers in which the user is signed in, with an end to each. */
export function SessionsCard() {
  const { say, signOut } = useSession();
  const sessions = useResource('sessions', (signal) => api.sessions({ signal }), { topics: ['users', 'me'] });
  const { error, run } = useAction(async ({ sessionId, current }: OwnSession) => {
    if (current) return signOut();
    await api.endSession(sessionId);
    say(texts.ended);
    sessions.reload();
  });
  const { columns } = texts;
  return (
    <Card title={texts.sessions}>
      <div class="stack">
        <p class="quiet">{texts.sessionsLead}</p>
        <Problem error={error} />
        <Shown of={sessions} lines={3}>
          {({ sessions: list }) => (
            <Table
              caption={texts.sessionsCaption}
              rows={list}
              idOf={({ sessionId }) => sessionId}
              orderIn="sort"
              keptAs="sessions"
              columns={[
                {
                  name: columns.browser,
                  names: true,
                  by: ({ browser }) => browser,
                  cell: ({ browser, current }) => (
                    <span class="row">
                      <Name>{browser}</Name> {current && <Badge tone="good">{texts.thisOne}</Badge>}
                    </span>
                  ),
                },
                {
                  name: columns.method,
                  by: ({ method }) => texts.methodNames[method] ?? method,
                  cell: ({ method }) => texts.methodNames[method],
                },
                {
                  name: columns.began,
                  by: ({ createdAt }) => createdAt,
                  cell: ({ createdAt }) => <Time at={createdAt} />,
                },
                {
                  name: columns.lastUsed,
                  by: ({ lastUsedAt }) => lastUsedAt,
                  cell: ({ lastUsedAt }) => <Time at={lastUsedAt} />,
                },
                {
                  name: columns.ends,
                  by: ({ expiresAt }) => expiresAt,
                  cell: ({ expiresAt }) => <Time at={expiresAt} />,
                },
                {
                  name: columns.actions,
                  unseen: true,
                  cell: (session) => (
                    <Button
                      small
                      kind="danger"
                      aria-label={session.current ? texts.endThis : texts.endOne(session.browser)}
                      onClick={() => run(session)}
                    >
                      {texts.end}
                    </Button>
                  ),
                },
              ]}
            />
          )}
        </Shown>
      </div>
    </Card>
  );
}
