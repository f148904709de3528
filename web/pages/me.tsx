import { useState } from 'preact/hooks';
import { passwordFault } from '../../src/domain/passwords/password-rules.ts';
import { me as api, signIn, type OwnSession, type Passkey } from '../api/panel.ts';
import { useAction } from '../hooks/use-action.ts';
import { usePasskey } from '../hooks/use-passkey.ts';
import { useResource } from '../hooks/use-resource.ts';
import { useSession } from '../shell/session.tsx';
import { me as texts } from '../text/me.ts';
import { Badge, Button, TextField } from '../ui/controls.tsx';
import { Confirm } from '../ui/dialog.tsx';
import { Card, Name, Page, Time } from '../ui/page.tsx';
import { Problem, Shown } from '../ui/state.tsx';
import { Table } from '../ui/table.tsx';

/** How one signs in, and where one is signed in. */
export function MePage() {
  const { me } = useSession();
  const methods = useResource('sign-in methods', () => signIn.methods());
  return (
    <Page title={texts.title} lead={texts.lead(me.name)}>
      <div class="grid two">
        <NameCard />
        <Shown of={methods} lines={3}>
          {({ password, provider }) => (
            <>
              {password && me.login !== '' && <PasswordCard />}
              <PasskeysCard />
              {(provider !== undefined || me.methods.provider) && <ProviderCard />}
            </>
          )}
        </Shown>
      </div>
      <SessionsCard />
    </Page>
  );
}

function NameCard() {
  const { me, reloadMe, say } = useSession();
  const [name, setName] = useState(me.name);
  const { busy, error, run } = useAction(async () => {
    await api.rename(name.trim());
    say(texts.renamed);
    reloadMe();
  });
  return (
    <Card title={texts.name}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          run();
        }}
      >
        <TextField
          label={texts.name}
          hint={texts.nameHint}
          value={name}
          onValue={setName}
          maxLength={100}
          autocomplete="name"
        />
        {me.login !== '' && (
          <p class="quiet">
            {texts.login}: <bdi>{me.login}</bdi>
          </p>
        )}
        <Problem error={error} />
        <div>
          <Button type="submit" busy={busy} disabled={name.trim() === '' || name.trim() === me.name}>
            {texts.rename}
          </Button>
        </div>
      </form>
    </Card>
  );
}

function PasswordCard() {
  const { me, reloadMe, say } = useSession();
  const [current, setCurrent] = useState('');
  const [next, setNext] = useState('');
  const fault = next === '' ? undefined : passwordFault(next, me);
  const hasOne = me.methods.password;
  const { busy, error, run } = useAction(async () => {
    await api.setPassword({ ...(hasOne && { current }), password: next });
    setCurrent('');
    setNext('');
    say(texts.passwordSet);
    reloadMe();
  });
  return (
    <Card title={texts.password}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          run();
        }}
      >
        <input type="text" autocomplete="username" value={me.login} hidden readOnly />
        {hasOne ? (
          <TextField
            label={texts.current}
            type="password"
            value={current}
            onValue={setCurrent}
            autocomplete="current-password"
            maxLength={512}
          />
        ) : (
          <p class="quiet">{texts.noPassword}</p>
        )}
        <TextField
          label={texts.next}
          hint={texts.nextHint}
          fault={fault}
          type="password"
          value={next}
          onValue={setNext}
          autocomplete="new-password"
          maxLength={512}
        />
        <Problem error={error} />
        <div>
          <Button type="submit" busy={busy} disabled={next === '' || fault !== undefined || (hasOne && current === '')}>
            {texts.setPassword}
          </Button>
        </div>
      </form>
    </Card>
  );
}

function PasskeysCard() {
  const { reloadMe, say } = useSession();
  const passkeys = useResource('passkeys', (signal) => api.passkeys({ signal }), { topics: ['me'] });
  const [name, setName] = useState(texts.passkeyDefault);
  const [removed, setRemoved] = useState<Passkey>();
  const passkey = usePasskey();
  const { busy, error, run } = useAction(async () => {
    const { options } = await api.passkeyOptions();
    await api.addPasskey(name.trim(), await passkey.make(options));
    say(texts.passkeyAdded);
    passkeys.reload();
    reloadMe();
  });
  return (
    <Card title={texts.passkeys}>
      <div class="stack">
        <p class="quiet">{texts.passkeysLead}</p>
        <Shown of={passkeys} lines={2}>
          {({ passkeys: list }) =>
            list.length === 0 ? (
              <p>{texts.noPasskeys}</p>
            ) : (
              <ul class="stack tight">
                {list.map((one) => (
                  <li key={one.passkeyId} class="row between">
                    <span>
                      <Name>{one.name}</Name>{' '}
                      <span class="quiet small">
                        {texts.added} <Time at={one.createdAt} />
                      </span>
                    </span>
                    <Button small kind="danger" aria-label={texts.removeOne(one.name)} onClick={() => setRemoved(one)}>
                      {texts.remove}
                    </Button>
                  </li>
                ))}
              </ul>
            )
          }
        </Shown>
        <TextField label={texts.passkeyName} value={name} onValue={setName} maxLength={100} autocomplete="off" />
        <Problem error={error} />
        <div>
          <Button busy={busy} disabled={name.trim() === ''} onClick={run}>
            {texts.addPasskey}
          </Button>
        </div>
      </div>
      {removed && (
        <Confirm
          title={texts.removePasskey}
          action={texts.remove}
          work={async () => {
            await api.removePasskey(removed.passkeyId);
            say(texts.passkeyRemoved);
            passkeys.reload();
            reloadMe();
          }}
          onClose={() => setRemoved(undefined)}
        >
          <p>
            <Name>{removed.name}</Name>
          </p>
        </Confirm>
      )}
    </Card>
  );
}

function ProviderCard() {
  const { me, reloadMe } = useSession();
  const [isAsking, setAsking] = useState(false);
  const { busy, error, run } = useAction(async () => {
    const { url } = await api.linkProvider();
    location.assign(url);
  });
  const isLinked = me.methods.provider;
  return (
    <Card title={texts.provider}>
      <div class="stack">
        <p>{isLinked ? texts.linked : texts.unlinked}</p>
        <Problem error={error} />
        <div class="row">
          <Button busy={busy} onClick={run}>
            {texts.link}
          </Button>
          {isLinked && (
            <Button kind="danger" onClick={() => setAsking(true)}>
              {texts.unlink}
            </Button>
          )}
        </div>
      </div>
      {isAsking && (
        <Confirm
          title={texts.unlinkTitle}
          action={texts.unlink}
          work={async () => {
            await api.unlinkProvider();
            reloadMe();
          }}
          onClose={() => setAsking(false)}
        >
          <p>{texts.unlinkSays}</p>
        </Confirm>
      )}
    </Card>
  );
}

function SessionsCard() {
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
              caption={texts.sessions}
              rows={list}
              idOf={({ sessionId }) => sessionId}
              columns={[
                {
                  name: columns.browser,
                  names: true,
                  cell: ({ browser, current }) => (
                    <span class="row">
                      <Name>{browser}</Name> {current && <Badge tone="good">{texts.thisOne}</Badge>}
                    </span>
                  ),
                },
                { name: columns.began, cell: ({ createdAt }) => <Time at={createdAt} /> },
                { name: columns.lastUsed, cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
                { name: columns.ends, cell: ({ expiresAt }) => <Time at={expiresAt} /> },
                {
                  name: columns.actions,
                  unseen: true,
                  cell: (session) => (
                    <Button small kind="danger" aria-label={texts.endOne(session.browser)} onClick={() => run(session)}>
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
