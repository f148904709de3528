/* The theme that a person chose beside the system's. It is kept in this browser. */

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

/**
 * Shows the theme that this browser keeps, after it has kept a newly chosen one. The build makes the text of this
 * function a script of its own, which runs before the first paint: it stands by itself, and names nothing outside.
 */
export function showTheme(chosen?: Theme): Theme {
  const name = 'muster-theme';
  let kept: string | null | undefined = chosen;
  try {
    if (chosen === 'system') localStorage.removeItem(name);
    else if (chosen !== undefined) localStorage.setItem(name, chosen);
    kept = localStorage.getItem(name);
  } catch {
    // A browser that keeps nothing shows it for this visit.
  }
  const theme = kept === 'light' || kept === 'dark' ? kept : 'system';
  document.documentElement.dataset['theme'] = theme;
  dispatchEvent(new Event('muster-theme'));
  return theme;
}

export const shownTheme = (): Theme =>
  THEMES.find((one) => one === document.documentElement.dataset['theme']) ?? 'system';

/** Another tab has chosen: this one follows. */
export const followTheme = (): void => addEventListener('storage', () => showTheme());

/** Calls back when the colours of the page change: by the system, or by a choice. @returns a function that ends it */
export function onColours(listener: () => void): () => void {
  const system = matchMedia('(prefers-color-scheme: dark)');
  system.addEventListener('change', listener);
  addEventListener('muster-theme', listener);
  return () => {
    system.removeEventListener('change', listener);
    removeEventListener('muster-theme', listener);
  };
}
