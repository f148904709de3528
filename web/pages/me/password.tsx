import { useState } from 'preact/hooks';
import { me as api } from '../../api/panel.ts';
import { useAction } from '../../hooks/use-action.ts';
import { useSession } from '../../shell/session.tsx';
import { me as texts } from '../../text/me.ts';
import { Button, TextField } from '../../ui/controls.tsx';
import { HiddenLogin, NewPasswordField, useNewPasswordFault } from '../../ui/new-password.tsx';
import { Card } from '../../ui/page.tsx';
import { Problem } from '../../ui/state.tsx';

/** Changes the user's own password, or sets the first one. */
export function PasswordCard() {
  const { me, reloadMe, say } = useSession();
  const [current, setCurrent] = useState('');
  const [next, setNext] = useState('');
  const fault = useNewPasswordFault(next, me);
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
        <HiddenLogin login={me.login} />
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
        <NewPasswordField label={texts.next} hint={texts.nextHint} value={next} onValue={setNext} fault={fault} />
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
