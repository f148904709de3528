import { useState } from 'preact/hooks';
import { me as api, signIn } from '../api/panel.ts';
import { useAction } from '../hooks/use-action.ts';
import { useResource } from '../hooks/use-resource.ts';
import { useSession } from '../shell/session.tsx';
import { me as texts } from '../text/me.ts';
import { Button, TextField } from '../ui/controls.tsx';
import { Form } from '../ui/form.tsx';
import { Card, Page } from '../ui/page.tsx';
import { Problem, Shown } from '../ui/state.tsx';
import { AccessTokensCard } from './me/access-tokens.tsx';
import { AdditionsCard } from './me/additions.tsx';
import { PasskeysCard } from './me/passkeys.tsx';
import { PasswordCard } from './me/password.tsx';
import { ProviderCard } from './me/provider.tsx';
import { RefusedSignInsCard } from './me/refused-sign-ins.tsx';
import { SessionsCard } from './me/sessions.tsx';
import { changed, needed } from '../ui/tried.ts';

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
              <PasskeysCard passwords={password} />
              {(provider !== undefined || me.methods.provider) && <ProviderCard provider={provider} />}
            </>
          )}
        </Shown>
      </div>
      <AdditionsCard />
      <SessionsCard />
      <AccessTokensCard />
      <RefusedSignInsCard />
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
      <Form unsaved={name.trim() !== me.name} onSend={run}>
        <TextField
          label={texts.name}
          hint={texts.nameHint}
          value={name}
          onValue={setName}
          missing={needed(name) ?? changed(name.trim() !== me.name)}
          maxLength={200}
          autocomplete="name"
        />
        {me.login !== '' && (
          <p class="quiet">
            {texts.login}: <bdi>{me.login}</bdi>
          </p>
        )}
        <Problem error={error} />
        <div>
          <Button type="submit" busy={busy}>
            {texts.rename}
          </Button>
        </div>
      </Form>
    </Card>
  );
}
