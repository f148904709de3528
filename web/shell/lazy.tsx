import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Finder as FinderComponent } from './finder.tsx';
import type { KeySheet as KeySheetComponent } from './key-sheet.tsx';
import { common } from '../text/common.ts';
import { navigation } from '../text/navigation.ts';
import { useSession } from './session.tsx';
import { isUpdated, reloadUpdated } from './update.ts';

/* Dialogs that are loaded when they are first opened. */

function lazily<Props extends { readonly onClose: () => void }>(
  load: () => Promise<ComponentType<Props>>,
): ComponentType<Props> {
  return function Lazy(props: Props) {
    const { say } = useSession();
    const [Loaded, setLoaded] = useState<ComponentType<Props>>();
    useEffect(() => {
      load().then(
        (component) => setLoaded(() => component),
        async () => {
          const updated = await isUpdated();
          if (updated && reloadUpdated()) return;
          // Closed, it can be opened again.
          props.onClose();
          say(updated ? navigation.reload : common.failed.title);
        },
      );
    }, []);
    return Loaded ? <Loaded {...props} /> : null;
  };
}

export const Finder = lazily<Parameters<typeof FinderComponent>[0]>(async () => (await import('./finder.tsx')).Finder);
export const KeySheet = lazily<Parameters<typeof KeySheetComponent>[0]>(
  async () => (await import('./key-sheet.tsx')).KeySheet,
);
