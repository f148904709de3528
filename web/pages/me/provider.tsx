import { useState } from 'preact/hooks';
import { me as api } from '../../api/panel.ts';
import { useAction } from '../../hooks/use-action.ts';
import { useSession } from '../../shell/session.tsx';
import { me as texts } from '../../text/me.ts';
import { Button } from '../../ui/controls.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Card } from '../../ui/page.tsx';
import { Problem } from '../../ui/state.tsx';

/**
 * The user's identity at the provider.
 * @param provider the name of the provider; undefined where this installation has none any more
 */
export function ProviderCard({ provider }: { provider: string | undefined }) {
  const { me, reloadMe, say } = useSession();
  const [isAsking, setAsking] = useState(false);
  const { busy, error, run } = useAction(async () => {
    const { url } = await api.linkProvider();
    location.assign(url);
  });
  const isLinked = me.methods.provider;
  return (
    <Card title={texts.provider}>
      <div class="stack">
        <p>{isLinked ? texts.linked(provider) : texts.unlinked(provider)}</p>
        {!isLinked && <p class="quiet">{texts.linkSays}</p>}
        <Problem error={error} />
        <div class="row">
          {isLinked ? (
            <Button kind="danger" onClick={() => setAsking(true)}>
              {texts.unlink}
            </Button>
          ) : (
            <Button busy={busy} onClick={run}>
              {texts.link}
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
            say(texts.unlinkedNow);
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
