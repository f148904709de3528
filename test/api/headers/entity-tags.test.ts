import { expect, test } from 'vitest';
import { entityTags, namesTag } from '../../../src/api/headers/entity-tags.ts';
import { LIMITS } from '../../../src/domain/limits.ts';

/* The fields If-None-Match and If-Match, as clients send them and as proxies change them. */

const TAGS_MAX = LIMITS.entityTagsMax;
const TAG = '"7-Zk3xQ9-60"';
const others = (count: number): string => Array.from({ length: count }, (_, index) => `"other-${index}"`).join(', ');

test.each<[string, boolean, string]>([
  [TAG, true, 'the tag'],
  [`W/${TAG}`, true, 'a weak one, as nginx makes of it'],
  ['"7-Zk3xQ9-60-gzip"', true, 'with the suffix of mod_deflate'],
  ['W/"7-Zk3xQ9-60-gzip"', true, 'with both'],
  ['"7-Zk3xQ9-60--gzip"', true, 'with the suffix of Jetty'],
  ['"7-Zk3xQ9-60-br"', true, 'with the suffix of mod_brotli'],
  ['"7-Zk3xQ9-60-zstd"', true, 'with the suffix of Caddy'],
  [`"a", ${TAG} ,"b"`, true, 'in a list'],
  [`"a",W/"7-Zk3xQ9-60-gzip"`, true, 'in a list that proxies have changed'],
  ['"a, b", "7-Zk3xQ9-60"', true, 'behind a tag with a comma'],
  ['*', true, 'any'],
  [' * ', true, 'any, with spaces'],
  [`${others(TAGS_MAX - 1)}, ${TAG}`, true, 'as the last one that is looked at'],
  [`${others(TAGS_MAX)}, ${TAG}`, false, 'as the first one that is not'],
  [`,, ${TAG},`, true, 'in a list with empty places'],
  [`x${TAG}`, false, 'behind something else'],
  [`${TAG}${TAG}`, false, 'twice without a comma'],
  [`'${TAG}'`, false, 'in other quotes'],
  [`"a" ${TAG}`, false, 'behind a tag without a comma'],
  ['"7-Zk3xQ9-60-gzipped"', false, 'with another suffix'],
  ['"7-Zk3xQ9-60-gzip-gzip"', false, 'with two suffixes'],
  ['"-gzip"', false, 'a suffix alone'],
  ['"7-Zk3xQ9-6"', false, 'the beginning of the tag'],
  ['7-Zk3xQ9-60', false, 'the tag without quotes'],
  ['"*"', false, 'a star in quotes'],
  [`*, "a"`, false, 'a star in a list'],
  ['', false, 'nothing'],
  [`"`.repeat(8001), false, 'quotes alone'],
])('%.40j names the tag: %j (%s)', (field, isNamed) => {
  expect(namesTag(field, TAG)).toBe(isNamed);
});

test('a field that is not there names no tag', () => {
  expect(namesTag(undefined, TAG)).toBe(false);
});

test('a tag that itself ends as a suffix does is named by itself, and not by what is before the suffix', () => {
  expect(namesTag('"a-gzip"', '"a-gzip"')).toBe(true);
  expect(namesTag('"a-gzip-gzip"', '"a-gzip"')).toBe(true);
  expect(namesTag('"a"', '"a-gzip"')).toBe(false);
});

test('the tags of a field are listed with their quotes, without their weakness, and as many as are looked at', () => {
  expect(entityTags('W/"a", "b-gzip"')).toEqual(['"a"', '"b-gzip"']);
  expect(entityTags(others(TAGS_MAX + 5))).toHaveLength(TAGS_MAX);
});
