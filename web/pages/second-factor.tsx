import { useSession } from '../shell/session.tsx';
import { ProofWays } from '../shell/proof.tsx';
import { proof as texts } from '../text/proof.ts';
import { Card, Page } from '../ui/page.tsx';
import { PasskeysCard } from './me/passkeys.tsx';

/** All that a user sees who lacks the second factor that the installation asks for. */
export function SecondFactorPage() {
  const { me, reloadMe } = useSession();
  const hasPasskey = me.methods.passkeys > 0;
  return (
    <Page title={texts.secondFactor} lead={hasPasskey ? texts.secondFactorThere : texts.secondFactorSays}>
      {hasPasskey ? (
        <Card title={texts.passkey}>
          <ProofWays me={me} onProved={reloadMe} />
        </Card>
      ) : (
        <PasskeysCard passwords />
      )}
    </Page>
  );
}
