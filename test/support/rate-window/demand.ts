import type { Random, Timeline } from '../time/timeline.ts';

/** Sends requests to one simulated replica: none, few, steadily, many, or in bursts, for a while each. */
export function demand(random: Random, timeline: Timeline, ask: (requests: number) => void): void {
  const scale = random() < 0.5 ? 1 : 0.3;
  let until = timeline.now;
  let next = (): { ms: number; requests: number } => ({ ms: 0, requests: 0 });
  const step = (): void => {
    if (timeline.now >= until) {
      until = timeline.now + 2000 + random() * 40_000;
      next = pattern(random, scale);
    }
    const { ms, requests } = next();
    timeline.after(ms, () => {
      timeline.isAsync = requests > 0;
      if (requests > 0) ask(requests);
      step();
    });
  };
  step();
}

function pattern(random: Random, scale: number): () => { ms: number; requests: number } {
  const spread = (perSecond: number) => () => ({ ms: (-Math.log(1 - random()) * 1000) / perSecond, requests: 1 });
  const kind = random();
  if (kind < 0.2) return () => ({ ms: 3000, requests: 0 });
  if (kind < 0.45) return spread((0.1 + random() * 2) * scale);
  if (kind < 0.7) return spread((1 + random() * 7) * scale);
  if (kind < 0.85) return spread((10 + random() * 20) * scale);
  return () => ({
    ms: 500 + random() * 15_000,
    requests: 1 + Math.floor(random() * (random() < 0.2 ? 700 : 120) * scale),
  });
}
