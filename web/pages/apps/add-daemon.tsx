import { Link } from '../../shell/link.tsx';
import { pathOfApp } from '../../shell/router.ts';
import { daemons as texts } from '../../text/daemons.ts';
import { apps } from '../../text/apps.ts';
import { formatInstant } from '../../text/format.ts';
import { Button } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { useShownOnce } from '../../ui/shown-once.ts';
import { shownName } from '../../../src/text/shown-name.ts';
import { DaemonArrival, useArrival } from './daemon-arrival.tsx';
import { EnrollmentLines, forgetWay, SecretText, type Enrollment } from './enrollment-lines.tsx';

/** A code that was issued just now. */
interface Issued {
  readonly appId: string;
  readonly name: string;
  readonly code: string;
  readonly expiresAt: string;
  /** The instant at which the app had enrolled last by then; null where it never had. */
  readonly before: string | null;
}

interface EnrollDaemonProps {
  readonly accountId: string;
  readonly issued: Issued;
  readonly enrollment: Enrollment;
  /** The page behind the dialog is that of the app. */
  readonly isOnItsPage?: boolean;
  readonly onClose: () => void;
  /** Begins with another daemon; undefined where that is not offered. */
  readonly onAnother?: (() => void) | undefined;
}

/**
 * The code of one daemon, how it enrolls with it, and what it does then. As long as nobody has copied the code, and no
 * daemon has used it, leaving asks first: it is shown nowhere else.
 */
export function EnrollDaemon(props: EnrollDaemonProps) {
  const { accountId, issued, enrollment, isOnItsPage = false, onClose, onAnother } = props;
  const { appId, name, code, expiresAt, before } = issued;
  const arrival = useArrival(accountId, appId, before, enrollment);
  const shownOnce = useShownOnce([code], arrival.isEnrolled);
  const { leave } = shownOnce;
  const close = (): void => {
    forgetWay();
    onClose();
  };
  return (
    <Dialog title={texts.ready(shownName(name, appId))} onClose={close} wide shownOnce={shownOnce}>
      <SecretText label={texts.code} secret={code} />
      <p class="quiet small">{texts.validUntil(formatInstant(expiresAt))}</p>
      <EnrollmentLines appId={appId} of={enrollment} />
      <DaemonArrival accountId={accountId} arrival={arrival} of={enrollment}>
        {arrival.isEnrolled && !isOnItsPage && <Link to={pathOfApp(accountId, appId)}>{texts.look}</Link>}
        <div class="actions">
          {onAnother && <Button onClick={() => leave(onAnother)}>{texts.another}</Button>}
          <Button kind="primary" onClick={() => leave(close)}>
            {apps.dialog.kept}
          </Button>
        </div>
      </DaemonArrival>
    </Dialog>
  );
}
