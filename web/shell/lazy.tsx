import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Finder as FinderComponent } from './finder.tsx';
import type { KeySheet as KeySheetComponent } from './key-sheet.tsx';

/* Dialogs that are loaded when they are first opened. */

function lazily<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  return function Lazy(props: Props) {
    const [Loaded, setLoaded] = useState<ComponentType<Props>>();
    useEffect(() => {
      load().then(
        (component) => setLoaded(() => component),
        () => undefined,
      );
    }, []);
    return Loaded ? <Loaded {...props} /> : null;
  };
}

export const Finder = lazily<Parameters<typeof FinderComponent>[0]>(async () => (await import('./finder.tsx')).Finder);
export const KeySheet = lazily<Parameters<typeof KeySheetComponent>[0]>(
  async () => (await import('./key-sheet.tsx')).KeySheet,
);
