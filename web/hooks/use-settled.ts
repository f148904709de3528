import { useEffect, useState } from 'preact/hooks';

/** The value once it has not changed for a moment, so that a person who types is not asked for with every letter. */
export function useSettled<T>(value: T, pauseMs = 300): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), pauseMs);
    return () => clearTimeout(timer);
  }, [value, pauseMs]);
  return settled;
}
