import { useEffect, useState } from 'preact/hooks';

/** The time in milliseconds since 1970, renewed once in a while, so that ages on a page stay true. */
export function useNow(everyMs = 15_000): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}
