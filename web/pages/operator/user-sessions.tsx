import { operator, type OwnSession, type User } from '../../api/panel.ts';
import { useAction } from '../../hooks/use-action.ts';
import { useResource } from '../../hooks/use-resource.ts';
import { useIsOpen } from '../../shell/rights.ts';
import { useSession } from '../../shell/session.tsx';
import { me as meTexts } from '../../text/me.ts';
import { users as texts } from '../../text/operator.ts';
import { Button } from '../../ui/controls.tsx';
import { Name, Time } from '../../ui/page.tsx';
import { Problem, Shown } from '../../ui/state.tsx';
import type { Column } from '../../ui/column.ts';
import { Table } from '../../ui/table.tsx';

/** The browsers in which a user is signed in, with an end to each. */
export function UserSessions({ user: { userId } }: { user: User }) {
  const { say } = useSession();
  const sessions = useResource(`sessions ${userId}`, (signal) => operator.userSessions(userId, { signal }), {
    topics: ['users'],
  });
  const { error, run } = useAction(async (sessionId: string) => {
    await operator.endUserSession(userId, sessionId);
    say(meTexts.ended);
    sessions.reload();
  });
  const { columns } = meTexts;
  const mayEnd = useIsOpen()('endUserSession');
  const ending: Column<OwnSession> = {
    name: columns.actions,
    unseen: true,
    cell: ({ sessionId, browser }) => (
      <Button small kind="danger" aria-label={meTexts.endOne(browser)} onClick={() => run(sessionId)}>
        {texts.end}
      </Button>
    ),
  };
  return (
    <>
      <h3>{texts.sessions}</h3>
      <Problem error={error} />
      <Shown of={sessions} lines={2}>
        {({ sessions: list }) =>
          list.length === 0 ? (
            <p class="quiet">{texts.noSessions}</p>
          ) : (
            <Table
              caption={meTexts.sessionsCaption}
              rows={list}
              idOf={({ sessionId }) => sessionId}
              columns={[
                {
                  name: columns.browser,
                  names: true,
                  by: ({ browser }) => browser,
                  cell: ({ browser }) => <Name>{browser}</Name>,
                },
                {
                  name: columns.method,
                  by: ({ method }) => meTexts.methodNames[method] ?? method,
                  cell: ({ method }) => meTexts.methodNames[method],
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
                ...(mayEnd ? [ending] : []),
              ]}
            />
          )
        }
      </Shown>
    </>
  );
}
