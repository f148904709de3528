import { useState } from 'preact/hooks';
import { common } from '../text/common.ts';
import { keySheet as texts } from '../text/navigation.ts';
import { Button, Check } from '../ui/controls.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { areKeysOn, keyLines, turnKeys } from './keys.ts';

/** What the keys of this page do, and whether single keys work at all. */
export function KeySheet({ onClose }: { onClose: () => void }) {
  const [isOn, setOn] = useState(areKeysOn);
  return (
    <Dialog title={texts.title} onClose={onClose}>
      <dl class="facts">
        {[...texts.always, ...keyLines()].map(([key, does]) => [
          <dt key={key}>
            <kbd>{key}</kbd>
          </dt>,
          <dd key={does}>{does}</dd>,
        ])}
      </dl>
      <Check
        label={texts.on}
        hint={texts.onHint}
        checked={isOn}
        onValue={(on) => {
          turnKeys(on);
          setOn(on);
        }}
      />
      <div class="actions">
        <Button kind="primary" onClick={onClose}>
          {common.close}
        </Button>
      </div>
    </Dialog>
  );
}
