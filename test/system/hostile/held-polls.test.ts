import { afterAll, expect, test } from 'vitest';
import { leaveStage, withstands } from './stage.ts';

afterAll(leaveStage);

/* A device that polls on many connections holds no more places than two, and nobody waits for it. */
test('polls that one device holds on very many connections', async (context) => {
  const { attacker } = await withstands('many-held-polls', context, { args: { connections: 200 } });
  const held = attacker.map((line) => (JSON.parse(line) as { held: number }).held);
  process.stdout.write(`hostile: many-held-polls: ${Math.max(...held)} held at most\n`);
  expect(held.length).toBeGreaterThan(1);
  expect(Math.max(...held)).toBeLessThanOrEqual(2);
});
