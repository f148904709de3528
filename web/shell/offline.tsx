import { useEffect, useState } from 'preact/hooks';
import { isReachable, onReachable } from '../api/reachable.ts';
import { common } from '../text/common.ts';
import { Icon } from '../ui/icons.tsx';
import { useSession } from './session.tsx';

const AGAIN_MS = 5000;

/** The one place that says that the service is away. It asks until it answers: nothing else of a page may be asking. */
export function Offline() {
  const { reloadMe } = useSession();
  const [isAway, setAway] = useState(!isReachable());
  useEffect(() => onReachable(() => setAway(!isReachable())), []);
  useEffect(() => {
    if (!isAway) return undefined;
    const timer = setInterval(reloadMe, AGAIN_MS);
    addEventListener('online', reloadMe);
    return () => {
      clearInterval(timer);
      removeEventListener('online', reloadMe);
    };
  }, [isAway, reloadMe]);
  if (!isAway) return null;
  return (
    <div class="banner offline" role="status">
      <Icon name="warn" />
      {common.offline}
    </div>
  );
}
