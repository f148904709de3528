import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { HelpLink } from '../../shell/help.tsx';
import { common } from '../../text/common.ts';
import { Mark } from '../../ui/icons.tsx';

/** The frame of a page before one is signed in. */
export function Door({ title, children }: { title: string; children: ComponentChildren }) {
  useEffect(() => {
    document.title = `${title} · ${common.product}`;
  }, [title]);
  return (
    <main class="door">
      <span class="brand">
        <Mark />
        {common.product}
      </span>
      <div class="card stack">
        <h1>{title}</h1>
        {children}
      </div>
      <HelpLink />
    </main>
  );
}
