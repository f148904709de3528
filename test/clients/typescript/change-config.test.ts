import { describe, expect, test } from 'vitest';
import { brokenOff, refused, scripted, thrown, type Answer } from './scripted.ts';

/* A change of the configuration from what is stored, over answers that are lost or late. */

const STORED = { enabled: false, endpoint: 'https://a.example.com', authHeaderSet: false, evidenceLevel: 'hashes' };
const WANTED = { ...STORED, enabled: true };
const read = (config: object, etag?: string) => (): Answer =>
  new Response(JSON.stringify(config), { headers: etag === undefined ? {} : { etag } });
const late = (): Answer => refused(412, 'precondition_failed');

function changing(...answers: (() => Answer)[]) {
  const { world, owner, sent } = scripted({ answers });
  return {
    changed: world.until(owner.changeOtelConfig((stored) => ({ ...stored, enabled: true }))),
    told: () => sent.map(({ init }) => [init.method, new Headers(init.headers).get('if-match') ?? ''].join(' ').trim()),
  };
}

describe('a change of the configuration', () => {
  test('is made over what was read, and begins anew where somebody was faster', async () => {
    const moved = { ...STORED, endpoint: 'https://b.example.com' };
    const { changed, told } = changing(
      read(STORED, '"1"'),
      late,
      read(moved, '"2"'),
      read({ ...moved, enabled: true }),
    );
    expect(await changed).toEqual({ ...moved, enabled: true });
    expect(told()).toEqual(['GET', 'PUT "1"', 'GET', 'PUT "2"']);
  });

  test('whose answer was lost is done where the configuration shows it', async () => {
    const { changed, told } = changing(read(STORED, '"1"'), brokenOff, late, read(WANTED, '"2"'), read(WANTED, '"2"'));
    expect(await changed).toEqual(WANTED);
    expect(told()).toEqual(['GET', 'PUT "1"', 'PUT "1"', 'GET', 'PUT "2"']);
  });

  test('whose answer was lost is not made over a later one', async () => {
    const { changed, told } = changing(read(STORED, '"1"'), brokenOff, late, read(STORED, '"3"'));
    expect(await thrown(changed)).toMatchObject({ code: 'precondition_failed', status: 412, mayBeDone: true });
    expect(told()).toEqual(['GET', 'PUT "1"', 'PUT "1"', 'GET']);
  });

  test.each([
    ['that a proxy has removed', undefined],
    ['that cannot be sent back', '"\u00e9"'],
  ])('goes on without a tag %s', async (_what, etag) => {
    const { changed, told } = changing(read(STORED, etag), read(WANTED));
    expect(await changed).toEqual(WANTED);
    expect(told()).toEqual(['GET', 'PUT']);
  });
});
