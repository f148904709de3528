import { expect, test } from 'vitest';
import { RouteTable } from '../../../src/api/v1/route-table.ts';

const ID = 'a0b1c2d3e4f5g6h7i8j9';
const routes = new RouteTable<string>();
routes.add({ method: 'get', path: '/v1/apps' }, 'list');
routes.add({ method: 'post', path: '/v1/apps' }, 'create');
routes.add({ method: 'get', path: '/v1/apps/:appId' }, 'read');
routes.add({ method: 'post', path: '/v1/apps/:appId/revoke' }, 'revoke');

test.each([
  ['GET', '/v1/apps', 'list', ''],
  ['GET', '/v1/apps?limit=1', 'list', ''],
  ['POST', '/v1/apps', 'create', ''],
  ['GET', `/v1/apps/${ID}`, 'read', ID],
  ['GET', `/v1/apps/${ID}?a=%61:b`, 'read', ID],
  ['POST', `/v1/apps/${ID}/revoke`, 'revoke', ID],
])('%s %s is found', (method, target, operate, appId) => {
  expect(routes.find(method, target)).toMatchObject({ operate, appId });
});

test.each([
  ['PUT', '/v1/apps', 'a method that the path does not have'],
  ['HEAD', '/v1/apps', 'one that another stands for'],
  ['get', '/v1/apps', 'a method in other letters'],
  ['GET', '/v1/apps/', 'a slash more'],
  ['GET', '/V1/apps', 'other letters'],
  ['GET', '/v1/apps/:appId', 'the template itself'],
  ['POST', '/v1/apps/:appId/revoke', 'the template itself, with more'],
  ['GET', `/v1/apps/${ID}/`, 'a slash after the id'],
  ['GET', `/v1/apps/${ID}x`, 'an id that is too long'],
  ['GET', `/v1/apps/${ID.slice(1)}`, 'one that is too short'],
  ['GET', `/v1/apps/${ID.toUpperCase()}`, 'one in other letters'],
  ['GET', `/v1/apps/%61${ID.slice(1)}`, 'an escaped letter'],
  ['GET', `/v1/apps/${ID}/revoke`, 'another method of the path'],
  ['GET', `/v1//apps`, 'an empty segment'],
])('%s %s is left to Express: %s', (method, target) => {
  expect(routes.find(method, target)).toBeUndefined();
});
