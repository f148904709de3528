import type { ComponentChildren } from 'preact';
import { useSession } from './session.tsx';

interface LinkProps {
  readonly class?: string;
  readonly title?: string;
  readonly 'aria-current'?: 'page' | undefined;
  readonly 'aria-label'?: string;
  readonly to: string;
  readonly children?: ComponentChildren;
}

/** A link to a page of the panel: a plain press changes the page without loading everything anew. */
export function Link({ to, children, ...anchor }: LinkProps) {
  const { go } = useSession();
  return (
    <a
      {...anchor}
      href={to}
      onClick={(event) => {
        const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
        if (!isPlain) return;
        event.preventDefault();
        go(to);
      }}
    >
      {children}
    </a>
  );
}
