import { useEffect, useState } from 'preact/hooks';
import { tellProof } from '../../shell/proved-channel.ts';
import { proof as texts } from '../../text/proof.ts';
import { Door } from './door.tsx';

/** The end of a proof at the provider, in a window of its own: it tells the page that waits, and closes. */
export function ProvedPage() {
  const [problem] = useState(() => {
    const code = new URLSearchParams(location.search).get('problem');
    return code === null ? undefined : (texts.problems[code] ?? texts.problem);
  });
  useEffect(() => {
    tellProof(problem);
    if (problem === undefined) window.close();
  }, [problem]);
  return (
    <Door title={problem === undefined ? texts.done : texts.failed}>
      {problem !== undefined && (
        <div class="note bad" role="alert">
          <p>{problem}</p>
        </div>
      )}
      <p>{texts.doneSays}</p>
    </Door>
  );
}
