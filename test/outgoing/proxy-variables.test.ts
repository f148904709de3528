import { expect, test } from 'vitest';
import { proxyFor } from '../../src/outgoing/proxy-variables.ts';

/* test/cli/connection/proxies.test.ts has the commands that go by them. */

test.each<[host: string, list: string, excepted: boolean]>([
  ['fleet.example', 'fleet.example', true],
  ['api.fleet.example', 'fleet.example', true],
  ['API.fleet.example', '.Fleet.Example', true],
  ['api.fleet.example', '*.fleet.example', true],
  ['myfleet.example', 'fleet.example', false],
  ['fleet.example', 'api.fleet.example', false],
  ['fleet.example', 'other.example , fleet.example', true],
  ['fleet.example', '*', true],
  ['fleet.example', '', false],
  ['fleet.example', ',.', false],
  ['fleet.example:8080', 'fleet.example:8080', true],
  ['fleet.example:8080', 'fleet.example:8081', false],
  ['fleet.example', 'fleet.example:80', true],
  ['10.1.2.3', '10.0.0.0/8', true],
  ['11.1.2.3', '10.0.0.0/8', false],
  ['10.1.2.3', '10.1.2.3', true],
  ['10.1.2.3:8080', '10.1.2.3:8080', true],
  ['10.1.2.3', '10.0.0.0/33', false],
  ['[fd00::1]:8080', 'fd00::/8', true],
  ['[fd00::1]:8080', 'fd00::1', true],
  ['[fd00::1]:8080', '[fd00::1]:8080', true],
  ['[fd00::1]:8080', '10.0.0.0/8', false],
])('http://%s with no_proxy=%s is excepted: %s', (host, no_proxy, excepted) => {
  const http_proxy = 'http://proxy.example:3128';
  expect(proxyFor(`http://${host}`, { http_proxy, no_proxy }) === undefined).toBe(excepted);
});

test.each(['localhost', '127.0.0.1', '127.8.9.10', '[::1]', '[::1]:8080'])('http://%s has no proxy', (host) => {
  expect(proxyFor(`http://${host}`, { http_proxy: 'http://proxy.example:3128' })).toBeUndefined();
});
