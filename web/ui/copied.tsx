import { useState } from 'preact/hooks';
import { common } from '../text/common.ts';
import { copy } from './copy.ts';

/** An id in a chip, which is copied when it is pressed. */
export function Copied({ text }: { text: string }) {
  const [said, setSaid] = useState<string>();
  return (
    <button
      type="button"
      class="chip"
      title={text}
      onClick={(event) => {
        const chip = event.currentTarget;
        copy(text, chip).then(setSaid, () => undefined);
        setTimeout(() => setSaid(undefined), 2500);
      }}
    >
      <span class="heard">{said ?? common.copyId} </span>
      {said === common.copied ? common.copied : text.slice(0, 6)}
    </button>
  );
}
