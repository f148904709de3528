import { useEffect, useState } from 'preact/hooks';
import { whenLeaving, type Left } from '../address/address.ts';
import { leaving } from '../text/navigation.ts';
import { Button } from '../ui/controls.tsx';
import { Dialog } from '../ui/dialog.tsx';

/** Asks before typed work, or a secret that is shown once, is lost with its page or its dialog. */
export function LeaveDialog() {
  const [asked, setAsked] = useState<{ readonly leave: () => void; readonly left: Left }>();
  useEffect(() => {
    whenLeaving((leave, left) => setAsked({ leave, left }));
    return () => whenLeaving((leave) => leave());
  }, []);
  if (!asked) return null;
  const texts = leaving[asked.left];
  const stay = (): void => setAsked(undefined);
  return (
    <Dialog title={texts.title} onClose={stay}>
      <p>{texts.says}</p>
      <div class="actions">
        <Button
          kind="danger"
          onClick={() => {
            stay();
            asked.leave();
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
