import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { userMenu as texts } from '../text/navigation.ts';
import { Button } from '../ui/controls.tsx';
import { Icon } from '../ui/icons.tsx';
import { showKeySheet } from './keys.ts';
import { Link } from './link.tsx';
import type { Route } from './router.ts';
import { useSession } from './session.tsx';
import { onColours, showTheme, shownTheme, THEMES } from './theme.ts';

/** The entries that belong to the person and not to a page, at the foot of the navigation. */
export function UserMenu({ route }: { route: Route }) {
  const { me } = useSession();
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  const foot = useRef<HTMLElement>(null);
  useEffect(() => setOpen(false), [route]);
  // A layout effect, for a press may come before the browser has painted the menu.
  useLayoutEffect(() => {
    if (!isOpen) return undefined;
    const away = ({ target }: Event): void => {
      if (target instanceof Node && !foot.current?.contains(target)) setOpen(false);
    };
    // A press elsewhere, and the focus that goes elsewhere.
    for (const event of ['pointerdown', 'focusin']) addEventListener(event, away);
    return () => {
      for (const event of ['pointerdown', 'focusin']) removeEventListener(event, away);
    };
  }, [isOpen]);
  // The next dialog gives the focus back to the element that had it: a hidden entry would lose it.
  const close = (): void => {
    foot.current?.querySelector('button')?.focus();
    setOpen(false);
  };
  return (
    <footer
      class="foot"
      ref={foot}
      onKeyDown={({ key }) => {
        if (key === 'Escape' && isOpen) close();
      }}
    >
      <Button kind="quiet" icon="person" aria-expanded={isOpen} aria-controls={id} onClick={() => setOpen(!isOpen)}>
        <span class="heard">{texts.label}: </span>
        <bdi class="name">{me.name}</bdi>
        <Icon name="choose" />
      </Button>
      <div class="user-menu" id={id} hidden={!isOpen}>
        <Entries current={route.page === 'me'} onDone={close} />
      </div>
    </footer>
  );
}

function Entries({ current, onDone }: { current: boolean; onDone: () => void }) {
  const { signOut } = useSession();
  return (
    <>
      <Link to="/me" aria-current={current ? 'page' : undefined} class="button quiet">
        <Icon name="person" />
        {texts.profile}
      </Link>
      <ThemeChoice />
      <a class="button quiet" href="/docs" target="_blank" rel="noreferrer">
        <Icon name="reference" />
        {texts.reference}
      </a>
      <a class="button quiet" href="/help" target="_blank" rel="noreferrer">
        <Icon name="help" />
        {texts.documents}
      </a>
      <Button
        kind="quiet"
        icon="keyboard"
        onClick={() => {
          onDone();
          showKeySheet();
        }}
      >
        {texts.keys}
      </Button>
      <Button
        kind="quiet"
        icon="out"
        onClick={() => {
          onDone();
          signOut();
        }}
      >
        {texts.signOut}
      </Button>
    </>
  );
}

function ThemeChoice() {
  const [theme, setTheme] = useState(shownTheme);
  // It is chosen by the search, too, and in another tab.
  useEffect(() => onColours(() => setTheme(shownTheme())), []);
  const name = useId();
  return (
    <fieldset class="theme">
      <legend class="heard">{texts.theme}</legend>
      {THEMES.map((one) => (
        <label key={one}>
          <input type="radio" name={name} checked={one === theme} onChange={() => showTheme(one)} />
          {texts.themes[one]}
        </label>
      ))}
    </fieldset>
  );
}
