import { useCallback, useState } from 'preact/hooks';

const SHOWN_MS = 6000;

/** Short notices at the edge of the page, which are also heard. */
export function useToasts(): {
  readonly say: (text: string) => void;
  readonly toasts: readonly (readonly [number, string])[];
} {
  const [toasts, setToasts] = useState<readonly (readonly [number, string])[]>([]);
  const say = useCallback((text: string) => {
    const id = performance.now();
    setToasts((before) => [...before.slice(-2), [id, text]]);
    setTimeout(() => setToasts((before) => before.filter(([other]) => other !== id)), SHOWN_MS);
  }, []);
  return { say, toasts };
}

export const Toasts = ({ toasts }: { toasts: readonly (readonly [number, string])[] }) => (
  <div class="toasts" role="status" aria-live="polite">
    {toasts.map(([id, text]) => (
      <div key={id} class="toast">
        {text}
      </div>
    ))}
  </div>
);
