import { useEffect, useState } from 'preact/hooks';
import { whenLeaving } from '../address/address.ts';
import { leaving as texts } from '../text/navigation.ts';
import { Button } from '../ui/controls.tsx';
import { Dialog } from '../ui/dialog.tsx';

/** Asks before a page is left that holds typed work, or a secret that is shown once. */
export function LeaveDialog() {
  const [leave, setLeave] = useState<() => void>();
  useEffect(() => {
    whenLeaving((asked) => setLeave(() => asked));
    return () => whenLeaving((asked) => asked());
  }, []);
  if (!leave) return null;
  const stay = (): void => setLeave(undefined);
  return (
    <Dialog title={texts.title} onClose={stay}>
      <p>{texts.says}</p>
      <div class="actions">
        <Button
          kind="danger"
          onClick={() => {
            stay();
            leave();
          }}
        >
          {texts.leave}
        </Button>
        <Button kind="primary" autofocus onClick={stay}>
          {texts.stay}
        </Button>
      </div>
    </Dialog>
  );
}
