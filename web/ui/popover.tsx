import type { ComponentChildren, ComponentProps } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';
import { Button } from './controls.tsx';

interface PopoverProps extends Pick<ComponentProps<typeof Button>, 'kind' | 'small' | 'icon' | 'aria-label'> {
  /** The content of the button. */
  readonly label: ComponentChildren;
  readonly role: 'group' | 'menu';
  /** The name of what it opens, for those who hear it. */
  readonly heard: string;
  /** A selector of the element that gets the focus once it is open. */
  readonly first: string;
  readonly onKeyDown?: (event: KeyboardEvent) => void;
  /** Its content, with the way to close it. */
  readonly children: (close: () => void) => ComponentChildren;
}

/**
 * A button and what it opens below itself, over everything, so that no table cuts it off. Escape or a press beside it
 * closes it, and the focus goes back to the button.
 */
export function Popover({ label, role, heard, first, onKeyDown, children, ...button }: PopoverProps) {
  const id = useId();
  const opener = useRef<HTMLDivElement>(null);
  const shown = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  const place = (menu: HTMLElement): void => {
    const from = opener.current?.getBoundingClientRect();
    if (!from) return;
    menu.style.top = `${Math.max(8, Math.min(from.bottom + 4, innerHeight - menu.offsetHeight - 8))}px`;
    menu.style.left = `${Math.max(8, Math.min(from.right - menu.offsetWidth, innerWidth - menu.offsetWidth - 8))}px`;
  };
  return (
    <div class="opener" ref={opener}>
      <Button {...button} popoverTarget={id} aria-haspopup={role === 'menu' ? 'menu' : undefined}>
        {label}
      </Button>
      <div
        id={id}
        class="menu"
        popover="auto"
        role={role}
        aria-label={heard}
        ref={shown}
        onKeyDown={onKeyDown}
        onBeforeToggle={({ newState }) => newState === 'open' && setOpen(true)}
        onToggle={({ currentTarget }) => {
          if (!currentTarget.matches(':popover-open')) {
            // Not before: the browser gives the focus back from what still stands in the list.
            return setOpen(false);
          }
          place(currentTarget);
          currentTarget.querySelector<HTMLElement>(first)?.focus();
        }}
      >
        {isOpen && children(() => shown.current?.hidePopover())}
      </div>
    </div>
  );
}
