import { useState } from 'preact/hooks';

/** From there on a text is cut to one line. */
const CUT_FROM = 60;

/**
 * Words of somebody else's of any length, such as a note or what a daemon said: one line, and all of it once it is
 * pressed. Those who hear the page hear all of it.
 */
export function Words({ children: text }: { children: string }) {
  const [isWhole, setWhole] = useState(false);
  if (text.length <= CUT_FROM && !text.includes('\n')) return <bdi>{text}</bdi>;
  return (
    <button
      type="button"
      class={isWhole ? 'words whole' : 'words'}
      aria-expanded={isWhole}
      title={isWhole ? undefined : text}
      onClick={() => setWhole(!isWhole)}
    >
      <bdi>{text}</bdi>
    </button>
  );
}
